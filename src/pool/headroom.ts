/**
 * How many slices a lender keeps free for its own next allocations. A pure function.
 *
 * Called by an engine's arena before it offers slices. Headroom covers what the lender allocates
 * while a refill recall is on its way: peak allocation rate x refill time, at least 2 % and at most
 * 10 % of its own slices; or what the operator fixed.
 */

import { assert, NS_PER_SECOND, unreachable } from "../base/index.ts";

/** `auto`, or fixed: a share of the engine's own slices, bytes, or none at all. */
export type HeadroomSetting =
  | "auto"
  | { readonly kind: "share"; readonly share: number }
  | { readonly kind: "bytes"; readonly bytes: number }
  | { readonly kind: "none" };

export interface HeadroomInputs {
  /** Over the last minute (allocation-rate.ts), or from the cost model before that. */
  readonly peakAllocationBytesPerSecond: number;
  /** From the request of a refill until its slices are usable. */
  readonly refillNs: number;
  readonly sliceBytes: number;
  readonly ownSlices: number;
  readonly setting: HeadroomSetting;
}

/** @returns whole slices, rounded up, never more than `ownSlices`. */
export function headroomSlices(inputs: HeadroomInputs): number {
  const { ownSlices, sliceBytes, setting } = inputs;
  assert(sliceBytes > 0, () => `headroom: slices of ${sliceBytes} bytes`);
  if (setting === "auto") return autoSlices(inputs);
  switch (setting.kind) {
    case "none":
      return 0;
    case "share":
      return Math.min(ownSlices, ceilSlices(setting.share * ownSlices));
    case "bytes":
      return Math.min(ownSlices, ceilSlices(setting.bytes / sliceBytes));
    default:
      return unreachable(setting);
  }
}

/** @returns what an engine lends at most: all but the headroom of one that has long been idle. */
export function lendableSlices(
  ownSlices: number,
  { sliceBytes, headroom }: { readonly sliceBytes: number; readonly headroom: HeadroomSetting },
): number {
  const idle = { peakAllocationBytesPerSecond: 0, refillNs: 0 };
  return ownSlices - headroomSlices({ ...idle, sliceBytes, ownSlices, setting: headroom });
}

function autoSlices(inputs: HeadroomInputs): number {
  const { peakAllocationBytesPerSecond, refillNs, sliceBytes, ownSlices } = inputs;
  const refillBytes = (peakAllocationBytesPerSecond * refillNs) / NS_PER_SECOND;
  assert(refillBytes >= 0, () => `headroom: ${refillBytes} bytes a refill`);
  const leastSlices = Math.ceil(ownSlices / 50);
  const mostSlices = Math.ceil(ownSlices / 10);
  return Math.min(mostSlices, Math.max(leastSlices, ceilSlices(refillBytes / sliceBytes)));
}

/** Rounds up, but not for the last bits of a product such as 0.07 x 100. */
function ceilSlices(slices: number): number {
  return Math.ceil(slices - 1e-9);
}
