/**
 * What a preempted request finds again: against what each slot really holds, and in which order.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { createKvLayout, KvCache } from "../../src/kvcache/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";

const SLOTS = 9;
const BLOCK_TOKENS = 4;

/** A request runs as the sequence of its number, or waits with what it remembers. */
class Model {
  /** What was last written to a slot. */
  readonly content = new Map<number, string>();
  /** Free slots, the one that is taken next first. */
  free = Array.from({ length: SLOTS }, (_, slot) => slot);
  readonly blocks = new Map<number, number[]>();
  readonly remembered = new Map<number, number[]>();
  found = 0;

  of(request: number): number[] {
    return this.blocks.get(request) ?? [];
  }

  take(request: number): number {
    const slot = this.free.shift()!;
    this.put(request, slot);
    return slot;
  }

  put(request: number, slot: number): void {
    this.content.set(slot, `${request}.${this.of(request).length}`);
    this.blocks.set(request, [...this.of(request), slot]);
  }

  /** The first blocks are freed last, so that they are found again for longest. */
  release(request: number): void {
    this.free.push(...this.of(request).toReversed());
    this.blocks.delete(request);
  }
}

class Step implements fc.Command<Model, KvCache> {
  readonly name: string;
  readonly act: (model: Model, real: KvCache) => void;
  constructor(name: string, act: (model: Model, real: KvCache) => void) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: KvCache): void {
    this.act(model, real);
    real.check();
    for (let request = 0; request < 4; request++) {
      const slots = Array.from({ length: real.blockCount(request) }, (_, block) =>
        real.handleOf(request, block),
      );
      expect(slots).toEqual(model.of(request));
    }
  }
  toString(): string {
    return this.name;
  }
}

const request = fc.nat(3);
const extend = fc.tuple(request, fc.integer({ min: 1, max: 4 })).map(([of, blocks]) =>
  new Step(`extend ${of} by ${blocks}`, (model, real) => {
    // Whoever starts asks first, and what is not wanted then is of no use later.
    if (model.of(of).length === 0) expect(real.restore(of, of, 0)).toBe(0);
    if (model.of(of).length === 0) model.remembered.delete(of);
    const isGranted = blocks <= model.free.length;
    const target = (model.of(of).length + blocks) * BLOCK_TOKENS;
    expect(real.extend(of, target)).toBe(isGranted);
    if (isGranted) for (let left = blocks; left > 0; left--) model.take(of);
    if (isGranted) real.seal(of, target);
  }),
);
const preempt = fc.tuple(request, fc.nat(3)).map(([of, open]) =>
  new Step(`preempt ${of}, ${open} tokens short`, (model, real) => {
    if (model.of(of).length === 0) return;
    const tokens = model.of(of).length * BLOCK_TOKENS - open;
    real.remember(of, of, tokens);
    model.remembered.set(of, model.of(of).slice(0, Math.floor(tokens / BLOCK_TOKENS)));
    real.release(of);
    model.release(of);
  }),
);
const finish = request.map((of) =>
  new Step(`finish ${of}`, (model, real) => {
    real.release(of);
    model.release(of);
  }),
);
const restore = fc.tuple(request, fc.nat(5)).map(([of, blocksMax]) =>
  new Step(`restore ${of}, at most ${blocksMax}`, (model, real) => {
    if (model.of(of).length > 0) return;
    const slots = (model.remembered.get(of) ?? []).slice(0, blocksMax);
    const isThere = (slot: number, block: number): boolean =>
      model.free.includes(slot) && model.content.get(slot) === `${of}.${block}`;
    const gone = slots.findIndex((slot, block) => !isThere(slot, block));
    const found = gone < 0 ? slots : slots.slice(0, gone);
    expect(real.restore(of, of, blocksMax)).toBe(found.length);
    expect(real.sealedBlocks(of)).toBe(found.length);
    model.remembered.delete(of);
    model.free = model.free.filter((slot) => !found.includes(slot));
    for (const slot of found) model.put(of, slot);
    model.found += found.length;
  }),
);

it("finds the leading blocks that nobody has taken, in slots that are taken oldest first", () => {
  let found = 0;
  const all = [extend, extend, preempt, restore, fc.oneof(finish, restore)];
  fc.assert(
    fc.property(fc.commands(all, { maxCommands: 80, size: "max" }), (steps) => {
      const real = new KvCache({
        layout: createKvLayout(8, 1, BLOCK_TOKENS, 8 * BLOCK_TOKENS),
        sourceOfRow: new Int16Array(SLOTS),
        sourceCount: 2,
        readSet: new ReadSet(2, 4),
        bridgedBlocksMax: 0,
        remembersFreed: true,
      });
      for (let row = 0; row < SLOTS; row++) real.slices.admit(row);
      const model = new Model();
      fc.modelRun(() => ({ model, real }), steps);
      found += model.found;
    }),
    { numRuns: 100, seed: 14 },
  );
  expect(found).toBeGreaterThan(50);
});
