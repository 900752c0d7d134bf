/** A small pool with short words for its commands, for tests that read like a story. */

import { engineId, sliceId, type EngineId } from "../../src/base/index.ts";
import {
  Pool,
  type FinishedRecall,
  type PoolEvent,
  type RecallKind,
} from "../../src/pool/index.ts";

const SLICES = 10;
export const [A, B, C] = [engineId(0), engineId(1), engineId(2)];

interface Setup {
  readonly limits?: readonly number[];
  /** Pairs [lender, borrower] without a path. */
  readonly cut?: readonly (readonly [EngineId, EngineId])[];
}

/** Three engines of ten slices: of A 0-9, of B 10-19, of C 20-29; all may reach all unless cut. */
export class PoolBench {
  readonly pool: Pool;
  readonly recalls: FinishedRecall[] = [];
  nowNs = 0;

  constructor({ limits = [Infinity, Infinity, Infinity], cut = [] }: Setup = {}) {
    const paths = new Float64Array(9).fill(276e9);
    for (const [lender, borrower] of cut) paths[lender * 3 + borrower] = 0;
    this.pool = new Pool({
      members: limits.map((borrowLimitSlices, device) => ({
        device,
        sliceCount: SLICES,
        borrowLimitSlices,
      })),
      pathBytesPerSecond: paths,
      refillDeadlineNs: 100e6,
      accountWindowNs: 10e9,
      onRecallFinished: (recall) => this.recalls.push(recall),
    });
  }

  offer(engine: EngineId, count: number): void {
    const first = this.pool.firstSliceOf(engine);
    const slices = Array.from({ length: count }, (_, index) => sliceId(first + index));
    this.pool.apply({ type: "OfferSlices", engine, slices }, this.nowNs);
  }

  request(engine: EngineId, count: number, allowRunning = false): PoolEvent[] {
    this.pool.apply({ type: "RequestSlices", engine, count, allowRunning }, this.nowNs);
    return this.events(engine);
  }

  giveBack(engine: EngineId, slices: readonly number[]): void {
    const ids = slices.map(sliceId);
    this.pool.apply({ type: "ReturnSlices", engine, slices: ids }, this.nowNs);
  }

  recall(engine: EngineId, count: number, kind: RecallKind): void {
    this.pool.apply({ type: "RecallSlices", engine, count, kind }, this.nowNs);
  }

  run(engine: EngineId, isRunning: boolean): void {
    this.pool.apply({ type: "SetActivity", engine, isRunning }, this.nowNs);
  }

  lose(engine: EngineId, lender: EngineId): void {
    const tokens = { earnedTokens: -100, producedTokens: 1000 };
    this.pool.apply({ type: "SettleAccount", engine, lender, ...tokens }, this.nowNs);
  }

  events(engine: EngineId): PoolEvent[] {
    this.pool.check();
    const events: PoolEvent[] = [];
    for (let event = this.pool.poll(engine); event !== null; event = this.pool.poll(engine)) {
      events.push(event);
    }
    return events;
  }
}

/** Slices granted by these events. */
export function borrowed(events: readonly PoolEvent[]): number[] {
  return events.flatMap((event) => (event.type === "LeaseGranted" ? event.slices : []));
}

export const denied = (reason: string, count: number): object => {
  return { type: "LeaseDenied", reason, count };
};
