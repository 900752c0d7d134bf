/** What a step reads of borrowed slices, and moves that are given up, end twice or never began. */

import { describe, expect, it } from "vitest";
import type { KvCache } from "../../src/kvcache/index.ts";
import { BLOCK_TOKENS, BLOCKS_PER_SLICE, newCache, rowOf } from "./kv-cache-model.ts";

/** Of lenders 1 and 2. */
const [LENT_ROW, OTHER_ROW] = [3, 5];

describe("reads", () => {
  /** One sequence of 4 full blocks in LENT_ROW, its slots in order. */
  function remote(ids: readonly number[]): KvCache {
    const kv = newCache();
    for (const id of ids) {
      expect(kv.extend(id, BLOCK_TOKENS)).toBe(true);
      kv.seal(id, BLOCK_TOKENS);
      kv.setActive(id, true);
    }
    for (const id of ids) kv.completeMove(kv.beginMove(id, 0, 1, LENT_ROW, "out").id);
    kv.syncReadSet();
    return kv;
  }
  const of = (kv: KvCache): number[] => [
    kv.readSet.stagedRuns[1]!,
    kv.readSet.stagedBytes[1]! / kv.layout.blockLayerBytes,
  ];

  it("neighbours are one copy, a hole of one block is copied along, a hole of two is not", () => {
    expect(of(remote([0, 1, 2, 3]))).toEqual([1, 4]);
    const bridged = remote([0, 1, 2, 3]);
    bridged.setActive(1, false);
    bridged.syncReadSet();
    expect(of(bridged)).toEqual([1, 4]);
    const split = remote([0, 1, 2, 3]);
    split.release(1);
    split.setActive(2, false);
    split.syncReadSet();
    expect(of(split)).toEqual([2, 2]);
  });

  it("nobody active, or a released sequence, reads nothing", () => {
    const kv = remote([0, 1]);
    kv.release(0);
    kv.setActive(1, false);
    kv.syncReadSet();
    expect(kv.readSet.totalBytes()).toBe(0);
    expect(kv.readSet.has(LENT_ROW)).toBe(false);
    kv.check();
  });

  it("the target of a copy in flight is not read", () => {
    const kv = newCache();
    kv.extend(0, BLOCK_TOKENS);
    kv.seal(0, BLOCK_TOKENS);
    kv.setActive(0, true);
    const started = kv.beginMove(0, 0, 1, LENT_ROW, "out");
    kv.syncReadSet();
    expect(kv.readSet.totalBytes()).toBe(0);
    kv.completeMove(started.id);
    kv.syncReadSet();
    expect(kv.readSet.has(LENT_ROW)).toBe(true);
    expect(rowOf(kv.handleOf(0, 0))).toBe(LENT_ROW);
  });
});

describe("misuse", () => {
  it("a block that moves does not move twice", () => {
    const kv = newCache();
    kv.extend(0, BLOCKS_PER_SLICE * BLOCK_TOKENS);
    kv.seal(0, BLOCKS_PER_SLICE * BLOCK_TOKENS);
    kv.beginMove(0, 1, 1, LENT_ROW, "out");
    expect(() => kv.beginMove(0, 1, 1, OTHER_ROW, "out")).toThrow("moves twice");
  });

  it("an unknown move cannot end", () => {
    expect(() => newCache().completeMove(3)).toThrow("moves: 3 is unknown");
  });

  it("an abandoned move frees its source for another one at once", () => {
    const kv = newCache();
    kv.extend(0, BLOCK_TOKENS);
    kv.seal(0, BLOCK_TOKENS);
    const first = kv.beginMove(0, 0, 1, LENT_ROW, "out");
    kv.abandonMove(first.id);
    kv.abandonMove(first.id);
    const second = kv.beginMove(0, 0, 1, OTHER_ROW, "other-lender");
    expect(kv.completeMove(second.id)).toBe(true);
    expect(kv.completeMove(first.id)).toBe(false);
    expect(rowOf(kv.handleOf(0, 0))).toBe(OTHER_ROW);
    expect(kv.usedBlocks(1)).toBe(0);
    kv.check();
  });
});
