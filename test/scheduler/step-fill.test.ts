/** Steps that go on from the one before: only where all that run make one more token each. */

import { expect, it } from "vitest";
import { Bench, BLOCK_TOKENS } from "./scheduler-model.ts";

const OWN_SLICES = 16;

/** A bench whose sequences have computed their prompts and decode from now on. */
function decoding(prompts: readonly number[]): Bench {
  const bench = new Bench(OWN_SLICES, { admission: { name: "none", growthShare: 0 } }, 1);
  for (const prompt of prompts) bench.submit(prompt, 40);
  for (let step = 0; step < 4; step++) bench.step();
  return bench;
}

/** Decides a step without running it. @returns what it computes: rows and KV tokens before it. */
function decided(bench: Bench): [row: number, past: number][] {
  const { rows, pastTokens, count } = bench.scheduler.schedule(10, bench.nowNs);
  return Array.from({ length: count }, (_, index) => [rows[index]!, pastTokens[index]!]);
}

it("goes on a token each, with a block for those whose last one is full", () => {
  const bench = decoding([5, 6, 7]);
  const before = decided(bench);
  expect(before).toHaveLength(3);
  for (let step = 0; step < 3 * BLOCK_TOKENS; step++) bench.step();
  const after = before.map(([row, past]) => [row, past + 3 * BLOCK_TOKENS]);
  expect(decided(bench)).toEqual(after);
});

it("decides the same step again when the last one made no tokens", () => {
  const bench = decoding([5, 6, 7]);
  const first = decided(bench);
  expect(decided(bench)).toEqual(first);
});

it("leaves out whose lender cannot be read any more", () => {
  const bench = decoding([5, 6, 7]);
  const row = bench.rowOf(1);
  bench.kv.completeMove(bench.kv.beginMove(row, 0, 1, OWN_SLICES, "out").id);
  bench.step();
  const rows = Array.from(bench.scheduler.sequences.order.subarray(0, 3));
  bench.link.sourceBytesPerSecond.fill(0);
  expect(decided(bench).map(([reader]) => reader)).toEqual(rows.filter((other) => other !== row));
});
