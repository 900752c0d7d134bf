// What a borrower drops for a recall: not what has been copied already, unless somebody waits.

import { expect, it } from "vitest";
import { engineId } from "../../src/base/index.ts";
import { RecallDues } from "../../src/engine/recall-dues.ts";
import { LOCAL_SOURCE, type Arena } from "../../src/kvcache/index.ts";
import { BLOCKS_PER_SLICE, LENDER, ResidencyBench } from "./residency-bench.ts";

const DEADLINE_NS = 100;
const LENDER_ID = engineId(LENDER - 1);

/** A sequence with a slice at a lender that wants it back; copies home have begun. */
function recalled(kind: "refill" | "demand") {
  const bench = new ResidencyBench();
  const row = bench.admit(2 * BLOCKS_PER_SLICE);
  bench.put(row, BLOCKS_PER_SLICE, LENDER);
  const [first] = bench.kv.findMovable(row, LENDER, 0, BLOCKS_PER_SLICE);
  const { slices } = bench.kv;
  const slice = slices.used.findIndex((used, at) => used > 0 && slices.source[at] === LENDER);
  slices.close(slice);
  for (let block = first; block < first + BLOCKS_PER_SLICE; block += 2) {
    bench.residency.moveBlocks(row, block, 2, LOCAL_SOURCE, "home", true, 0);
  }
  const arena = {
    recalls: [{ lender: LENDER_ID, kind, remaining: 1, deadlineNs: DEADLINE_NS }],
    closingRows: () => 1,
  } as unknown as Arena;
  const dues = new RecallDues(arena, bench.kv, bench.residency);
  return { bench, due: (nowNs: number) => dues.rows(LENDER_ID, [slice], nowNs) };
}

it("drops nothing before a refill's deadline, and what is not copied by then", () => {
  const { bench, due } = recalled("refill");
  expect(due(DEADLINE_NS - 1)).toBe(0);
  expect(due(DEADLINE_NS)).toBe(1);
  bench.copies.endNext();
  bench.residency.poll(0);
  expect(due(DEADLINE_NS)).toBe(1);
});

it("leaves an overdue refill to the step's end where all has been copied", () => {
  const { bench, due } = recalled("refill");
  while (bench.copies.endNext());
  bench.residency.poll(0);
  expect(due(DEADLINE_NS)).toBe(0);
  // Then the slice is empty, closing, and still to be given back: on its way.
  bench.residency.settle();
  expect(due(DEADLINE_NS)).toBe(0);
});

it("drops what is demanded at once, copied or not", () => {
  const { bench, due } = recalled("demand");
  expect(due(0)).toBe(1);
  while (bench.copies.endNext());
  bench.residency.poll(0);
  expect(due(0)).toBe(1);
});

it("owes nothing to lenders that ask for nothing", () => {
  const { bench } = recalled("refill");
  const arena = { recalls: [], closingRows: () => 1 } as unknown as Arena;
  expect(new RecallDues(arena, bench.kv, bench.residency).rows(LENDER_ID, [], 1e9)).toBe(0);
});
