// What a copy engine of any backend must do, in real and in virtual time.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AssertionFailure } from "../../../src/base/index.ts";
import type { CopyPiece, DeviceCopies, DeviceMemory } from "../../../src/device/index.ts";

/** Two devices and a host: places 0, 1 and 2. */
export interface CopiesFixture {
  readonly memories: readonly DeviceMemory[];
  /** (devices) */
  readonly copies: readonly DeviceCopies[];
  /** The caller's clock, in nanoseconds. */
  nowNs(): number;
  /** Lets time pass until a copy of this engine may have ended. */
  pass(copies: DeviceCopies): Promise<void>;
  close(): Promise<void>;
}

const [OWN, PEER, HOST] = [0, 1, 2];
const BYTES = 2 ** 20;

/** @param build places of at least 1 MiB each; the host writable by both engines */
export function describeDeviceCopies(name: string, build: () => Promise<CopiesFixture>): void {
  describe(`device copies: ${name}`, () => {
    let fixture: CopiesFixture;
    let copies: DeviceCopies;
    let addresses: number[];
    let lastId = 0;
    beforeAll(async () => {
      fixture = await build();
      copies = fixture.copies[OWN]!;
      addresses = fixture.memories.map((memory) => memory.allocate(BYTES)!);
    });
    afterAll(() => fixture.close());

    const submit = (
      from: number,
      to: number,
      pieces: readonly CopyPiece[],
      cell?: number,
    ): number => {
      copies.submit(++lastId, { from, to }, pieces, Infinity, fixture.nowNs(), cell);
      return lastId;
    };
    const drain = async (): Promise<number[]> => {
      const ids: number[] = [];
      while (copies.nextDueNs() < Infinity) {
        const id = copies.poll(fixture.nowNs());
        if (id === -1) await fixture.pass(copies);
        else ids.push(id);
      }
      expect(copies.poll(fixture.nowNs())).toBe(-1);
      return ids;
    };
    const piece = (from: number, at: number, to: number, toAt: number, bytes: number) => ({
      sourceAddress: addresses[from]! + at,
      targetAddress: addresses[to]! + toAt,
      bytes,
    });
    const put = (place: number, at: number, bytes: readonly number[]): void =>
      fixture.memories[place]!.write(addresses[place]! + at, Uint8Array.from(bytes));
    const get = (place: number, at: number, bytes: number): number[] => {
      const target = new Uint8Array(bytes);
      fixture.memories[place]!.read(addresses[place]! + at, target);
      return [...target];
    };

    it("has nothing to say while nothing is under way", () => {
      expect(copies.nextDueNs()).toBe(Infinity);
      expect(copies.poll(fixture.nowNs())).toBe(-1);
    });

    it("brings pieces from a peer and from the host, and takes some there", async () => {
      put(PEER, 100, [1, 2, 3, 4, 5]);
      put(HOST, 50, [6, 7]);
      put(OWN, 900, [8, 9]);
      const ids = [
        submit(PEER, OWN, [piece(PEER, 100, OWN, 10, 2), piece(PEER, 103, OWN, 14, 2)]),
        submit(HOST, OWN, [piece(HOST, 50, OWN, 12, 2)]),
        submit(OWN, HOST, [piece(OWN, 900, HOST, 70, 2)]),
      ];
      expect((await drain()).sort((a, b) => a - b)).toEqual(ids);
      expect(get(OWN, 9, 8)).toEqual([0, 1, 2, 6, 7, 4, 5, 0]);
      expect(get(HOST, 70, 2)).toEqual([8, 9]);
    });

    it("ends copies of one path in the order of their submission", async () => {
      const ids = Array.from({ length: 50 }, (_, index) =>
        submit(PEER, OWN, [piece(PEER, 0, OWN, 0, index % 2 === 0 ? BYTES / 4 : 1)]),
      );
      expect(await drain()).toEqual(ids);
    });

    it("counts arrivals in the cell that a copy names, and all of them in cell 0", async () => {
      const before = [...copies.arrivals.subarray(0, 4)];
      for (const cell of [2, 3, 2, undefined]) {
        submit(PEER, OWN, [piece(PEER, 0, OWN, 0, 8)], cell);
      }
      await drain();
      const after = copies.arrivals.subarray(0, 4);
      expect(before.map((count, cell) => after[cell]! - count)).toEqual([4, 0, 2, 1]);
    });

    it("has read the pieces when submit returns", async () => {
      put(PEER, 0, [11, 12]);
      const pieces = [piece(PEER, 0, OWN, 200, 1)];
      submit(PEER, OWN, pieces);
      pieces[0] = piece(PEER, 1, OWN, 300, 1);
      await drain();
      expect([get(OWN, 200, 1), get(OWN, 300, 1)]).toEqual([[11], [0]]);
    });

    it("ends a copy of no pieces, and one of very many", async () => {
      put(PEER, 0, [21, 22, 23, 24]);
      const many = Array.from({ length: 9001 }, (_, index) =>
        piece(PEER, index % 4, OWN, 4096 + index, 1),
      );
      const ids = [submit(PEER, OWN, []), submit(PEER, OWN, many)];
      expect((await drain()).sort((a, b) => a - b)).toEqual(ids);
      const expected = many.map((_, index) => 21 + (index % 4));
      expect(get(OWN, 4096, 9002)).toEqual([...expected, 0]);
    });

    it("loses none of more copies than any queue holds", async () => {
      const ids = Array.from({ length: 20_000 }, () =>
        submit(PEER, OWN, [piece(PEER, 0, OWN, 0, 1), piece(PEER, 1, OWN, 1, 1)]),
      );
      expect(await drain()).toEqual(ids);
    });

    it("moves what a naive copy would", async () => {
      const span = fc.record({
        from: fc.constantFrom(PEER!, HOST!),
        at: fc.nat(999),
        toAt: fc.nat(999),
        bytes: fc.integer({ min: 1, max: 300 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(span, { maxLength: 12 }), async (spans) => {
          const source = Array.from({ length: 1300 }, (_, index) => (index * 7 + 1) % 251);
          put(PEER, 10_000, source);
          put(HOST, 10_000, source.toReversed());
          fixture.memories[OWN]!.clear(addresses[OWN]! + 10_000, 1300);
          const expected = new Uint8Array(1300);
          // One at a time: copies of different paths that overlap have no order.
          for (const { from, at, toAt, bytes } of spans) {
            submit(from, OWN, [piece(from, 10_000 + at, OWN, 10_000 + toAt, bytes)]);
            await drain();
            const bytesOf = from === PEER ? source : source.toReversed();
            expected.set(bytesOf.slice(at, at + bytes), toAt);
          }
          expect(get(OWN, 10_000, 1300)).toEqual([...expected]);
        }),
        { numRuns: 10 },
      );
    });

    it("refuses an id that is under way", async () => {
      const id = submit(PEER, OWN, [piece(PEER, 0, OWN, 0, 1)]);
      const again = (): void => copies.submit(id, { from: PEER, to: OWN }, [], Infinity, 0);
      expect(again).toThrow(AssertionFailure);
      expect(await drain()).toEqual([id]);
    });
  });
}
