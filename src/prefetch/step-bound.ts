/**
 * The closed form of a steady-state step: how long it takes when its remote bytes arrive beside
 * it.
 *
 * Called by the access mode for each split it considers. It knows one layer's loads and a ring of
 * two layer groups; it replays nothing (timeline.ts does, and a test holds the two together).
 *
 * The equations are those of docs/METHOD.md ("What a step costs"), a layer at a time, and what the
 * ring adds. With S bytes of a layer staged, D read directly in directNs, and the link busy linkNs
 * a layer:
 *
 *     linear    = linearLayer + S/B                    staged bytes are written while GEMMs run
 *     attention = max(attentionLayer - D/B, directNs)  direct bytes are not read from local HBM
 *     compute   = host + head + layers (linear + attention)
 *     link      = layers linkNs
 *
 * A ring of two groups of g layers cannot use the whole step for the link: around a step's end
 * only two groups may be ahead of the compute. With A the arrival of a step's last group:
 *
 *     A |attention|head|host|linear|attention|          the next step's arrivals, link bound:
 *       |-- group 0 --|                                 needs the slot of group count-2
 *                      |-- group 1 --|                  needs the step's start
 *                                            |-- group 2 --|-- group 3 ...   needs group 0's end
 *
 *     step >= head + g attention + (layers - g) linkNs
 *     step >= head + host + g linear + 2 g attention + (layers - 2g) linkNs
 */

import type { StepCompute } from "./step-compute.ts";

/** One layer's remote loads under one split. Bytes may be fractions: a split is a target. */
export interface LayerLoads {
  stagedBytes: number;
  directBytes: number;
  /** Time in which the direct bytes cross, by port and slowest lender. */
  directNs: number;
  /** Time in which all bytes cross, copies included, by port and slowest lender. */
  linkNs: number;
}

/** @returns the step without link terms (T0): what the link's time is compared with. */
export function balanceStepNs(compute: StepCompute, loads: LayerLoads): number {
  const hbmNsPerByte = 1e9 / compute.hbmBytesPerSecond;
  const linearNs = compute.linearLayerNs + loads.stagedBytes * hbmNsPerByte;
  const attentionNs = Math.max(compute.attentionLayerNs - loads.directBytes * hbmNsPerByte, 0);
  return compute.hostNs + compute.layers * (linearNs + attentionNs) + compute.headNs;
}

/** @returns the steady-state time of a step: the compute, or what the link and the ring allow. */
export function steadyStepNs(
  compute: StepCompute,
  loads: LayerLoads,
  groupLayers: number,
): number {
  return weighedStepNs(compute, loads, groupLayers, 0);
}

/** @returns the steady-state time and a share of the step's compute on top. */
export function weighedStepNs(
  compute: StepCompute,
  loads: LayerLoads,
  groupLayers: number,
  computeWeight: number,
): number {
  const { layers, hostNs, headNs } = compute;
  const linearNs = stagedLinearNs(compute, loads);
  const attentionNs = mixedAttentionNs(compute, loads);
  const group = Math.min(groupLayers, layers);
  const afterOne = Math.max(layers - group, 0) * loads.linkNs;
  const afterTwo = Math.max(layers - 2 * group, 0) * loads.linkNs;
  // The last group's attention ends the step before, so a step of one group has only one attention.
  const isOneGroup = layers <= group;
  const computeNs = hostNs + layers * (linearNs + attentionNs) + headNs;
  const stepNs = Math.max(
    computeNs,
    layers * loads.linkNs,
    headNs + group * attentionNs + afterOne,
    isOneGroup ? 0 : headNs + hostNs + group * (linearNs + 2 * attentionNs) + afterTwo,
  );
  return stepNs + computeWeight * computeNs;
}

function stagedLinearNs(compute: StepCompute, loads: LayerLoads): number {
  return compute.linearLayerNs + (loads.stagedBytes * 1e9) / compute.hbmBytesPerSecond;
}

function mixedAttentionNs(compute: StepCompute, loads: LayerLoads): number {
  const localNs =
    compute.attentionLayerNs - (loads.directBytes * 1e9) / compute.hbmBytesPerSecond;
  return Math.max(localNs, loads.directNs);
}
