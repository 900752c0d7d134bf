// Whole pages by first fit, against a model that keeps one flag a page.

import fc from "fast-check";
import { expect, it } from "vitest";
import { PageAllocator } from "../../../src/device/emulated/page-allocator.ts";
import { PAGE_BYTES } from "../../../src/device/emulated/window.ts";

const PAGES = 24;

interface Model {
  /** (pages) the offset of the allocation that holds it, or -1. */
  readonly owner: number[];
}

class Allocate implements fc.Command<Model, PageAllocator> {
  readonly bytes: number;
  constructor(bytes: number) {
    this.bytes = bytes;
  }
  check(): boolean {
    return true;
  }
  run({ owner }: Model, real: PageAllocator): void {
    const pages = Math.ceil(this.bytes / PAGE_BYTES);
    const isFree = (page: number): boolean => owner[page] === -1;
    const first = owner.findIndex((_, page) =>
      Array.from({ length: pages }, (_each, index) => page + index).every(isFree),
    );
    const offset = first === -1 ? null : first * PAGE_BYTES;
    expect(real.allocate(this.bytes)).toBe(offset);
    if (offset !== null) owner.fill(offset, first, first + pages);
    real.check();
  }
  toString(): string {
    return `allocate(${this.bytes})`;
  }
}

class Free implements fc.Command<Model, PageAllocator> {
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
  check({ owner }: Model): boolean {
    return owner.some((offset) => offset !== -1);
  }
  run({ owner }: Model, real: PageAllocator): void {
    const offsets = [...new Set(owner.filter((offset) => offset !== -1))];
    const offset = offsets[this.index % offsets.length]!;
    const pages = owner.filter((each) => each === offset).length;
    expect(real.free(offset)).toBe(pages * PAGE_BYTES);
    owner.forEach((each, page) => {
      if (each === offset) owner[page] = -1;
    });
    const free = owner.filter((each) => each === -1).length;
    expect(real.freeBytes).toBe(free * PAGE_BYTES);
    real.check();
  }
  toString(): string {
    return `free(${this.index})`;
  }
}

it("gives the first run that is long enough, and joins what comes back", () => {
  const commands = fc.commands(
    [
      fc.integer({ min: 1, max: 9 * PAGE_BYTES }).map((bytes) => new Allocate(bytes)),
      fc.nat(PAGES).map((index) => new Free(index)),
    ],
    { maxCommands: 60 },
  );
  fc.assert(
    fc.property(commands, (list) => {
      const model: Model = { owner: new Array<number>(PAGES).fill(-1) };
      fc.modelRun(() => ({ model, real: new PageAllocator(PAGES * PAGE_BYTES) }), list);
    }),
    { numRuns: 200 },
  );
});

it("says where nothing was allocated", () => {
  const pages = new PageAllocator(4 * PAGE_BYTES);
  pages.allocate(1);
  expect(() => pages.free(PAGE_BYTES)).toThrow(/nothing was allocated at offset 65536/);
});

it("never has room in memory that is another's", () => {
  expect(new PageAllocator(0).allocate(1)).toBeNull();
});
