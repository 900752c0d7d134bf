/**
 * Moves of sealed blocks between places: out to a borrowed slice, home, to another lender, to host.
 *
 * Created by KvCache, carried out by the engine's copy engine. A sealed block never changes, so the
 * source stays readable while the copy runs, and a move may be given up at any time without loss.
 *
 *     COPYING --(copy done)--> the table points to the target, the source's slots are free
 *        |
 *        +--(sequence released, or move given up)--> ORPHANED --(copy done)--> target slots free
 */

/** Why a move was started; the recall ladder and the statistics tell them apart. */
export type MoveReason = "out" | "home" | "other-lender" | "host" | "back";

export interface Move {
  readonly id: number;
  readonly sequence: number;
  readonly firstBlock: number;
  readonly blockCount: number;
  readonly targetRow: number;
  readonly sourceSource: number;
  readonly targetSource: number;
  readonly bytes: number;
  /** Contiguous copies it takes: runs of the source times layer groups. */
  readonly copies: number;
  readonly reason: MoveReason;
  /** (blockCount) slots reserved in the target row. */
  readonly targetHandles: Int32Array;
  isOrphaned: boolean;
}
