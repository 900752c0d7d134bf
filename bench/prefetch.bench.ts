/**
 * What planning a step costs: a full plan, a plan again after one change, one replay.
 *
 * Run with `npx tsx bench/prefetch.bench.ts`. The shape is a large one: 80 layers, seven lenders
 * with 500 slices each, 64 groups in the replay.
 */

import { StepPlanner } from "../src/engine/step-planner.ts";
import { createKvLayout, KvCache, LOCAL_SOURCE } from "../src/kvcache/index.ts";
import { accessChoice, chooseAccess, ReadSet, StepTimeline } from "../src/prefetch/index.ts";
import { measure, writeMeasured } from "./micro.ts";

const LENDERS = 7;
const SLICES = 500;
/** Of one layer of one slice: 3,500 of them are 140 MB, a third of a millisecond of the port. */
const SLICE_LAYER_BYTES = 40_000;
/** Of the planner's cache: room for one block of 80 layers; and slices for its ring. */
const SLICE_BYTES = 4 * 2 ** 20;
const OWN_SLICES = 256;

const compute = {
  layers: 80,
  hostNs: 3_000_000,
  headNs: 400_000,
  linearLayerNs: 330_000,
  attentionLayerNs: 120_000,
  hbmBytesPerSecond: 3000e9,
};
const link = { portBytesPerSecond: 376e9, copyCostNs: 2300, latencyNs: 7500 };
// Two lenders run steps of their own and are paced.
const rates = Float64Array.from({ length: LENDERS }, (_, lender) => (lender < 2 ? 60e9 : 376e9));
const choice = accessChoice(LENDERS);
const bytesPerLayer = new Float64Array(LENDERS);
const runsPerLayer = new Float64Array(LENDERS);

/** @param firstSource the first lender's; slices are numbered from 0. */
function fill(reads: ReadSet, firstSource = 0): void {
  for (let lender = 0; lender < LENDERS; lender++) {
    for (let slice = 0; slice < SLICES; slice++) {
      // A slice is read in whole; one in eight holds two sequences, so two runs.
      const runs = slice % 8 === 0 ? 2 : 1;
      reads.set(lender * SLICES + slice, firstSource + lender, runs, SLICE_LAYER_BYTES);
    }
  }
}

function plan(reads: ReadSet): void {
  for (let lender = 0; lender < LENDERS; lender++) {
    bytesPerLayer[lender] = reads.stagedBytes[lender]! + reads.directBytes[lender]!;
    runsPerLayer[lender] = reads.stagedRuns[lender]! + reads.directRuns[lender]!;
  }
  chooseAccess("mixed", compute, link, 2, bytesPerLayer, runsPerLayer, rates, choice);
  reads.rebalance(choice.stagedBytesPerLayer);
}

measure("read set of 3,500 accesses filled and planned", () => {
  const reads = new ReadSet(LENDERS, LENDERS * SLICES);
  fill(reads);
  plan(reads);
});

const whole = new ReadSet(LENDERS, LENDERS * SLICES);
fill(whole);
const allStaged = Float64Array.from(whole.stagedBytes);

// Two plans' worth of moves; the goal is for one.
const fullPlan = "the same read set planned from all staged, and back";
measure(
  fullPlan,
  () => {
    plan(whole);
    whole.rebalance(allStaged);
  },
  50_000,
);

const standing = new ReadSet(LENDERS, LENDERS * SLICES);
fill(standing);
plan(standing);
let turn = 0;

measure("planned again with a search after one change", () => {
  turn = (turn + 1) % (LENDERS * SLICES);
  standing.set(turn, Math.floor(turn / SLICES), 1 + (turn & 1), SLICE_LAYER_BYTES);
  plan(standing);
});

// As an engine does it: shares found for nearly the same question stand for 32 steps.
const again = standingPlanner();
let change = 0;

measure(
  "planned again after one change, as an engine does",
  () => {
    change = (change + 1) % (LENDERS * SLICES);
    const lender = Math.floor(change / SLICES);
    again.readSet.set(change, 1 + lender, 1 + (change & 1), SLICE_LAYER_BYTES);
    again.planner.plan(compute, false, again.rates);
  },
  2000,
);

/** A planner over seven lenders' slices, whose ring holds whatever is staged. */
function standingPlanner() {
  const sourceCount = LENDERS + 2;
  const readSet = new ReadSet(sourceCount, LENDERS * SLICES);
  fill(readSet, 1);
  // One block a slice; own slices, for the ring, come after those of the lenders.
  const layout = createKvLayout(SLICE_LAYER_BYTES * compute.layers, compute.layers, 1, SLICE_BYTES);
  const rows = LENDERS * SLICES;
  const sourceOfRow = Int16Array.from({ length: rows + OWN_SLICES }, (_, row) =>
    row < rows ? 1 + Math.floor(row / SLICES) : LOCAL_SOURCE,
  );
  const kv = new KvCache({ layout, sourceOfRow, sourceCount, readSet, bridgedBlocksMax: 0 });
  for (let row = rows; row < sourceOfRow.length; row++) kv.slices.admit(row);
  const planner = new StepPlanner({ mode: "mixed", link, groupLayers: 2 }, kv);
  const bytesPerSecond = Float64Array.from({ length: sourceCount }, (_, source) =>
    source >= 1 && source <= LENDERS ? rates[source - 1]! : 0,
  );
  return { readSet, planner, rates: bytesPerSecond };
}

const timeline = new StepTimeline(80);
const input = {
  startNs: 0,
  firstGroup: 0,
  groupCount: 64,
  groupLayers: 1,
  layers: 64,
  compute: { ...compute, layers: 64 },
  hbmSlowdown: 1,
  link,
  stagedBytes: new Float64Array(LENDERS).fill(10e6),
  stagedRuns: new Float64Array(LENDERS).fill(10),
  directBytes: new Float64Array(LENDERS).fill(4e6),
  sourceBytesPerSecond: rates,
  aheadFromNs: 0,
  aheadShare: 1,
};

measure("one replay of 64 groups", () => {
  input.startNs = timeline.endNs;
  input.aheadFromNs = timeline.nextAheadFromNs;
  timeline.lay(input);
});

const local = {
  ...input,
  stagedBytes: new Float64Array(LENDERS),
  stagedRuns: new Float64Array(LENDERS),
  directBytes: new Float64Array(LENDERS),
};
const localTimeline = new StepTimeline(80);

measure("the same with nothing remote", () => {
  local.startNs = localTimeline.endNs;
  localTimeline.lay(local);
});

writeMeasured("prefetch");
