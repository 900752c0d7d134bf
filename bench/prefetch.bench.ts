/**
 * What planning a step costs: a full plan, a plan again after one change, one replay.
 *
 * Run with `npx tsx bench/prefetch.bench.ts`. The shape is a large one: 80 layers, seven lenders
 * with 500 slices each, 64 groups in the replay.
 */

import { accessChoice, chooseAccess, ReadSet, StepTimeline } from "../src/prefetch/index.ts";
import { measure, writeMeasured } from "./micro.ts";

const LENDERS = 7;
const SLICES = 500;
/** Of one layer of one slice: 3,500 of them are 140 MB, a third of a millisecond of the port. */
const SLICE_LAYER_BYTES = 40_000;

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

function fill(reads: ReadSet): void {
  for (let lender = 0; lender < LENDERS; lender++) {
    for (let slice = 0; slice < SLICES; slice++) {
      // A slice is read in whole; one in eight holds two sequences, so two runs.
      const runs = slice % 8 === 0 ? 2 : 1;
      reads.set(lender * SLICES + slice, lender, runs, SLICE_LAYER_BYTES);
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

measure("the same read set planned from all staged, and back", () => {
  plan(whole);
  whole.rebalance(allStaged);
});

const standing = new ReadSet(LENDERS, LENDERS * SLICES);
fill(standing);
plan(standing);
let turn = 0;

measure("planned again after one change", () => {
  turn = (turn + 1) % (LENDERS * SLICES);
  standing.set(turn, Math.floor(turn / SLICES), 1 + (turn & 1), SLICE_LAYER_BYTES);
  plan(standing);
});

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
