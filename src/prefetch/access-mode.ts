/**
 * Which bytes a step stages and which it reads in place, and how long the step then takes.
 *
 * Called by planners when a read set or a batch has changed, and by schedulers that ask whether
 * borrowing pays. It knows one layer's bytes by lender, not which slices they lie in (ReadSet
 * moves those). The equations stand in step-bound.ts, the search in split-search.ts.
 *
 * Invariants: pure, and allocates nothing; in mixed mode stepNs is at most 0.1 % above the step of
 * any other split, so also of all staged and of all direct.
 */

import { balanceStepNs, steadyStepNs } from "./step-bound.ts";
import { SplitSearch } from "./split-search.ts";
import type { LinkCosts, StepCompute } from "./step-compute.ts";

export type AccessMode = "staged" | "direct" | "mixed";

export interface AccessChoice {
  /** (sourceCount) bytes of one layer to stage: a target, not a multiple of anything. */
  stagedBytesPerLayer: Float64Array;
  /** Predicted steady-state step. */
  stepNs: number;
  /** Time the links need for all of the step's remote bytes, copies included: R/N. */
  linkNs: number;
  /** T0: the same step without link terms; the balance point is where linkNs reaches it. */
  balanceNs: number;
}

/** @returns a choice of nothing, to be filled by `chooseAccess` again and again. */
export function accessChoice(sourceCount: number): AccessChoice {
  const stagedBytesPerLayer = new Float64Array(sourceCount);
  return { stagedBytesPerLayer, stepNs: 0, linkNs: 0, balanceNs: 0 };
}

// Scratch of one call: nothing in it is read by a later one.
const search = new SplitSearch();
const evenBytes = new Float64Array(1);
const evenRuns = new Float64Array(1);
const evenBytesPerSecond = new Float64Array(1);
const evenChoice = accessChoice(1);

/**
 * Fills `out`. Mode "staged": all staged; "direct": none; "mixed": the best split.
 *
 * @param bytesPerLayer (sourceCount) remote bytes of one layer, R by lender.
 * @param runsPerLayer (sourceCount) contiguous runs they lie in; one copy moves one run of a whole
 *   layer group.
 * @param sourceBytesPerSecond (sourceCount) at most how fast a lender may be read, path and pace
 *   together; 0 means unreadable, and then no bytes may lie there (assert).
 */
export function chooseAccess(
  mode: AccessMode,
  compute: StepCompute,
  link: LinkCosts,
  groupLayers: number,
  bytesPerLayer: Float64Array,
  runsPerLayer: Float64Array,
  sourceBytesPerSecond: Float64Array,
  out: AccessChoice,
): void {
  search.begin(
    compute,
    link,
    groupLayers,
    bytesPerLayer,
    runsPerLayer,
    sourceBytesPerSecond,
    out.stagedBytesPerLayer,
  );
  let directNs = 0;
  if (search.totalBytes > 0 && mode !== "staged") {
    directNs = mode === "direct" ? search.allDirectNs : search.bestDirectNs();
  }
  search.settle(directNs);
  out.stepNs = steadyStepNs(compute, search.loads, groupLayers);
  out.linkNs = compute.layers * search.loads.linkNs;
  out.balanceNs = balanceStepNs(compute, search.loads);
}

/**
 * "Does it pay": the steady-state step with so many remote bytes a layer spread evenly over
 * lenders that may together be read at `totalSourceBytesPerSecond`, in runs of `runBytesPerLayer`.
 *
 * @returns Infinity when there are bytes and no lender may be read.
 */
export function predictStepNs(
  mode: AccessMode,
  compute: StepCompute,
  link: LinkCosts,
  groupLayers: number,
  remoteBytesPerLayer: number,
  runBytesPerLayer: number,
  totalSourceBytesPerSecond: number,
): number {
  if (remoteBytesPerLayer > 0 && totalSourceBytesPerSecond <= 0) return Infinity;
  evenBytes[0] = remoteBytesPerLayer;
  evenRuns[0] = remoteBytesPerLayer === 0 ? 0 : remoteBytesPerLayer / runBytesPerLayer;
  evenBytesPerSecond[0] = totalSourceBytesPerSecond;
  chooseAccess(
    mode,
    compute,
    link,
    groupLayers,
    evenBytes,
    evenRuns,
    evenBytesPerSecond,
    evenChoice,
  );
  return evenChoice.stepNs;
}
