/**
 * How KV fits into slices and how many copies that costs: rounding in the closed form.
 *
 * Called by practical-limit.ts. A slice holds floor(slice / block) blocks and lies layer group by
 * layer group, so that a group of one slice is one contiguous run and one copy.
 *
 *   run of one layer group = blocksPerSlice x block bytes of one layer x g
 *   g = 1 unless that is under 6 MB, then up to the least g that reaches it, at most L / 4
 *   copies of a staged slice = ceil(L / g), each c
 *   ring = two layer groups of all staged bytes = 2 g s / L
 *
 * A sequence takes its context in whole blocks: on average half a block more. Slices are taken as
 * full: what sequences leave unused at the end of a slice of their own is not charged.
 */

import { EmaError } from "../base/index.ts";
import type { Borrower } from "./borrower.ts";

/** From here on a copy of 2.3 us at 276 GB/s spends less than a tenth of its time on that. */
const RUN_BYTES_ENOUGH = 6e6;

export interface SliceLayout {
  readonly blockBytes: number;
  readonly blocksPerSlice: number;
  /** KV bytes in a full slice: the rest of the slice is lost. */
  readonly payloadBytes: number;
  readonly layersPerGroup: number;
  /** Copies that stage one slice. */
  readonly copiesPerSlice: number;
  /** 2 g / L */
  readonly ringShare: number;
}

/**
 * @param layersPerGroup g, from 1 to `layersPerGroupMax`.
 * @throws EmaError E_ARGUMENT when not even one block fits in a slice.
 */
export function sliceLayout(
  borrower: Borrower,
  sliceBytes: number,
  blockTokens: number,
  layersPerGroup: number,
): SliceLayout {
  const blockBytes = blockTokens * borrower.kvBytesPerToken;
  const blocksPerSlice = Math.floor(sliceBytes / blockBytes);
  if (blocksPerSlice === 0) {
    throw new EmaError(
      "E_ARGUMENT",
      `a slice of ${sliceBytes} bytes cannot hold one block of ${blockBytes} bytes`,
    );
  }
  const payloadBytes = blocksPerSlice * blockBytes;
  return {
    blockBytes,
    blocksPerSlice,
    payloadBytes,
    layersPerGroup,
    copiesPerSlice: Math.ceil(borrower.layers / layersPerGroup),
    ringShare: Math.min(1, (2 * layersPerGroup) / borrower.layers),
  };
}

/** The largest group worth looking at: beyond it a copy's own cost matters little. */
export function layersPerGroupMax(
  borrower: Borrower,
  sliceBytes: number,
  blockTokens: number,
): number {
  const { payloadBytes } = sliceLayout(borrower, sliceBytes, blockTokens, 1);
  const enough = Math.ceil((RUN_BYTES_ENOUGH * borrower.layers) / payloadBytes);
  return Math.max(1, Math.min(enough, Math.floor(borrower.layers / 4)));
}

/** Whole slices of `bytes`, in bytes of KV they hold. */
export function heldBytes(layout: SliceLayout, bytes: number, sliceBytes: number): number {
  return Math.floor(bytes / sliceBytes) * layout.payloadBytes;
}
