/**
 * How fast each source may be read now: the path's speed, or the lender's share while it runs.
 *
 * Owned by the engine, read by rotation, planner and runner. A lender that runs steps loses at most
 * `lenderShare` of its achieved HBM bandwidth to all its borrowers together; while this engine
 * moves blocks off it, the moves have that share and steps do not read it.
 */

import { engineId, type EngineId } from "../base/index.ts";
import type { Arena, KvCache } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import type { LinkPort } from "../scheduler/index.ts";

/** Of what a running lender's share carries within a step, this much is used: steps differ. */
export const SHARE_USED = 0.9;

export interface LinkRateOptions {
  /** (sources) speed of the path; 0 where there is none. */
  readonly pathBytesPerSecond: Float64Array;
  readonly portBytesPerSecond: number;
  /** Share of a running lender's bandwidth; `null`: not paced. */
  readonly lenderShare: number | null;
  /** (sources) achieved HBM bandwidth of the source's device. */
  readonly hbmBytesPerSecond: Float64Array;
}

/** Shares of a step: links busy with what is out, and with what would move out. */
const BUSY_SHARE_MAX = 1 / 2;
const MORE_SHARE_MAX = 1 / 4;

type Reads = Pick<KvCache, "readSet" | "layout">;

export class LinkRates implements LinkPort {
  readonly sourceBytesPerSecond: Float64Array;
  readonly portBytesPerSecond: number;
  isConstrained = false;
  readonly #options: LinkRateOptions;
  /** (sources) engines among which a running lender's share is divided. */
  readonly #sharers: Float64Array;

  constructor(options: LinkRateOptions) {
    this.#options = options;
    this.sourceBytesPerSecond = Float64Array.from(options.pathBytesPerSecond);
    this.portBytesPerSecond = options.portBytesPerSecond;
    this.#sharers = new Float64Array(options.pathBytesPerSecond.length).fill(1);
  }

  /** What a source may be read at while its lender runs. */
  pacedBytesPerSecond(source: number): number {
    const { lenderShare, hbmBytesPerSecond, pathBytesPerSecond } = this.#options;
    const path = pathBytesPerSecond[source]!;
    if (lenderShare === null) return path;
    return Math.min(path, (lenderShare * hbmBytesPerSecond[source]!) / this.#sharers[source]!);
  }

  /**
   * What a lender could be read at if it runs, by its borrowers of now and this engine among them.
   */
  sharedBytesPerSecond(lender: EngineId, isBorrowedFrom: boolean, pool: Pool): number {
    const { lenderShare, hbmBytesPerSecond } = this.#options;
    const path = this.pathBytesPerSecond(lender + 1);
    if (lenderShare === null) return path;
    const sharers = pool.borrowersOf(lender) + (isBorrowedFrom ? 0 : 1);
    return Math.min(path, (lenderShare * hbmBytesPerSecond[lender + 1]!) / Math.max(1, sharers));
  }

  pathBytesPerSecond(source: number): number {
    return this.#options.pathBytesPerSecond[source]!;
  }

  /**
   * Whether blocks may move out for somebody who has not come yet: they are read in every step
   * until they end, so links must be less than half busy, and hardly busier with them.
   */
  hasRoomFor(blocks: number, { readSet, layout }: Reads, stepNs: number): boolean {
    let busyNs = (readSet.totalBytes() * layout.layers * 1e9) / this.portBytesPerSecond;
    let together = 0;
    for (let source = 1; source < this.sourceBytesPerSecond.length; source++) {
      const rate = this.sourceBytesPerSecond[source]!;
      together += rate;
      const bytes = readSet.stagedBytes[source]! + readSet.directBytes[source]!;
      if (bytes > 0) busyNs = Math.max(busyNs, (bytes * layout.layers * 1e9) / rate);
    }
    const bytesPerSecond = Math.min(together, this.portBytesPerSecond);
    const moreNs = (blocks * layout.blockBytes * 1e9) / bytesPerSecond;
    return busyNs < BUSY_SHARE_MAX * stepNs && moreNs < MORE_SHARE_MAX * stepNs;
  }

  /** @param leaving (sources) moves under way that leave a source. */
  refresh(arena: Arena, pool: Pool, leaving: Int32Array): void {
    this.isConstrained = false;
    for (let source = 1; source < arena.hostSource; source++) {
      const isRunning = arena.isLenderRunning[source - 1] === 1;
      if (isRunning) {
        const lender = engineId(source - 1);
        this.#sharers[source] = Math.max(1, pool.borrowersOf(lender));
      }
      let rate = isRunning ? this.pacedBytesPerSecond(source) : this.pathBytesPerSecond(source);
      if (isRunning && leaving[source]! > 0 && this.#options.lenderShare !== null) rate = 0;
      this.sourceBytesPerSecond[source] = rate;
      if (rate < this.pathBytesPerSecond(source)) this.isConstrained = true;
    }
  }
}
