/**
 * How fast each source may be read now, and how fast it will be.
 *
 * Owned by the engine, read by rotation, planner and runner. A lender that runs steps loses at most
 * `lenderShare` of its achieved HBM bandwidth to all its borrowers together; while this engine
 * moves blocks off it, the moves have that share and steps do not read it. An idle one may be read
 * at the path's speed, but others read there too: what steps found lately is expected again, and
 * before the first step what the pool knows of the others' reads. Less is believed at once, more
 * little by little: a plan for a speed that is not there makes steps wait, the other way round it
 * copies a little more than it must.
 */

import { engineId, NS_PER_SECOND, type EngineId } from "../base/index.ts";
import type { Arena, KvCache } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import type { LinkPort } from "../scheduler/index.ts";
import type { StepTiming } from "./step-timing.ts";

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

/** What a step found is taken in whole parts of the path's speed: not every step plans anew. */
const SPEED_PARTS = 16;
/** Of the difference to a higher speed, believed after each step. */
const RISE_SHARE = 1 / 16;
/** A step's speeds say nothing after so long. */
const FOUND_KEPT_NS = NS_PER_SECOND;

/** Shares of a step: links busy with what is out, and with what would move out. */
const BUSY_SHARE_MAX = 1 / 2;
const MORE_SHARE_MAX = 1 / 4;

type Reads = Pick<KvCache, "readSet" | "layout">;

export class LinkRates implements LinkPort {
  /** (sources) expected; at most what is allowed. */
  readonly sourceBytesPerSecond: Float64Array;
  readonly allowedBytesPerSecond: Float64Array;
  readonly portBytesPerSecond: number;
  isConstrained = false;
  readonly #options: LinkRateOptions;
  /** (sources) engines among which a running lender's share is divided. */
  readonly #sharers: Float64Array;
  /** (sources) as steps found them, and when that was last. */
  readonly #found: Float64Array;
  readonly #foundNs: Float64Array;
  #nowNs = 0;

  constructor(options: LinkRateOptions) {
    this.#options = options;
    this.sourceBytesPerSecond = Float64Array.from(options.pathBytesPerSecond);
    this.allowedBytesPerSecond = Float64Array.from(options.pathBytesPerSecond);
    this.portBytesPerSecond = options.portBytesPerSecond;
    this.#found = Float64Array.from(options.pathBytesPerSecond);
    this.#foundNs = new Float64Array(options.pathBytesPerSecond.length).fill(-Infinity);
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

  /** What a lender that does not run can be read at beside others who read it. */
  idleBytesPerSecond(lender: EngineId, { engine }: Pick<Arena, "engine">, pool: Pool): number {
    const source = lender + 1;
    const path = this.pathBytesPerSecond(source);
    if (path === 0 || this.#nowNs - this.#foundNs[source]! > FOUND_KEPT_NS) {
      return Math.min(path, pool.readableBytesPerSecond(lender, engine));
    }
    const parts = Math.floor((SPEED_PARTS * this.#found[source]!) / path);
    return (path * Math.max(1, parts)) / SPEED_PARTS;
  }

  /** A step that read something has ended. */
  observe({ readBytes, readableBytesPerSecond }: StepTiming, nowNs: number): void {
    if (readableBytesPerSecond === null) return;
    for (let source = 1; source < readBytes.length; source++) {
      if (readBytes[source] === 0) continue;
      // What a running lender gives says nothing of what it gives when it does not run.
      if (this.allowedBytesPerSecond[source]! < this.pathBytesPerSecond(source)) continue;
      const isNew = nowNs - this.#foundNs[source]! > FOUND_KEPT_NS;
      this.#foundNs[source] = nowNs;
      const more = readableBytesPerSecond[source]! - this.#found[source]!;
      this.#found[source]! += isNew || more <= 0 ? more : RISE_SHARE * more;
    }
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

  /** Blocks that links carry within `ns` from lenders whose slices are held. */
  carriedBlocks({ slices, layout }: Pick<KvCache, "slices" | "layout">, ns: number): number {
    let together = 0;
    for (let source = 1; source < this.sourceBytesPerSecond.length; source++) {
      if (slices.heldRows[source]! > 0) together += this.sourceBytesPerSecond[source]!;
    }
    const bytesPerNs = Math.min(together, this.portBytesPerSecond) / NS_PER_SECOND;
    return (bytesPerNs * ns) / layout.blockBytes;
  }

  /** @param leaving (sources) moves under way that leave a source. */
  refresh(arena: Arena, pool: Pool, leaving: Int32Array, nowNs: number): void {
    this.#nowNs = nowNs;
    this.isConstrained = false;
    for (let source = 1; source < arena.hostSource; source++) {
      const isRunning = arena.isLenderRunning[source - 1] === 1;
      const lender = engineId(source - 1);
      if (isRunning) {
        this.#sharers[source] = Math.max(1, pool.borrowersOf(lender));
      }
      const path = this.pathBytesPerSecond(source);
      let rate = isRunning ? this.pacedBytesPerSecond(source) : path;
      if (isRunning && leaving[source]! > 0 && this.#options.lenderShare !== null) rate = 0;
      this.allowedBytesPerSecond[source] = rate;
      this.sourceBytesPerSecond[source] = isRunning
        ? rate
        : this.idleBytesPerSecond(lender, arena, pool);
      if (rate < path) this.isConstrained = true;
    }
  }
}
