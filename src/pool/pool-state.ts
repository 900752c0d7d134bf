/**
 * The parts of the pool's state in one place, and the few things every command does with them.
 *
 * Made by Pool; read and written by the functions that execute commands (requests.ts, returns.ts).
 * It takes no decision of its own.
 */

import type { EngineId, SliceId } from "../base/index.ts";
import { Accounts } from "./accounts.ts";
import type { PoolEvent } from "./commands.ts";
import { EVENT_COUNT, zeroCounts, type PoolCounts } from "./counters.ts";
import { Leases } from "./leases.ts";
import { SliceLedger } from "./ledger.ts";
import { Mailboxes } from "./mailboxes.ts";
import type { LenderColumns } from "./placement.ts";
import { ReadRates } from "./read-rates.ts";
import { RecallBook, type FinishedRecall } from "./recall-book.ts";

/** One engine, in the order of EngineId. */
export interface PoolMember {
  /** GPU index in the topology. */
  readonly device: number;
  /** Slices of its own device's KV memory; SliceIds are dense, member by member. */
  readonly sliceCount: number;
  /** Infinity for none. */
  readonly borrowLimitSlices: number;
}

export interface PoolOptions {
  readonly members: readonly PoolMember[];
  /** (lenders, borrowers) bytes/s at which borrower b reads lender l at [l * n + b]; 0: no path. */
  readonly pathBytesPerSecond: Float64Array;
  readonly refillDeadlineNs: number;
  readonly accountWindowNs: number;
  /** Told of each recall that has finished, in that order; the pool keeps none of them. */
  readonly onRecallFinished?: (recall: FinishedRecall) => void;
}

/** Every part checks itself; what must agree between them is check-pool.ts's. */
export class PoolState {
  readonly engineCount: number;
  readonly refillDeadlineNs: number;
  readonly ledger: SliceLedger;
  readonly leases: Leases;
  readonly book: RecallBook;
  readonly accounts: Accounts;
  readonly reads: ReadRates;
  readonly mailboxes: Mailboxes;
  readonly counts: PoolCounts = zeroCounts();
  readonly borrowLimits: Float64Array; // (engines)
  readonly isRunning: Uint8Array; // (engines)
  readonly isGone: Uint8Array; // (engines)
  /** (engines) scratch of one request. */
  readonly grants: Int32Array;
  /** Time of the command in hand. */
  nowNs = 0;
  /** (borrowers) the lenders as each sees them; `isBlocked` is shared and filled at each look. */
  readonly #lenders: readonly LenderColumns[];

  constructor(options: PoolOptions) {
    const { members, pathBytesPerSecond } = options;
    const count = members.length;
    this.engineCount = count;
    this.refillDeadlineNs = options.refillDeadlineNs;
    this.ledger = new SliceLedger(members.map((member) => member.sliceCount));
    this.leases = new Leases(count, this.ledger.sliceCount);
    this.book = new RecallBook(count, options.onRecallFinished ?? (() => {}));
    this.accounts = new Accounts(count * count, options.accountWindowNs);
    this.reads = new ReadRates(count, pathBytesPerSecond);
    this.mailboxes = new Mailboxes(count);
    this.borrowLimits = Float64Array.from(members, (member) => member.borrowLimitSlices);
    this.isRunning = new Uint8Array(count);
    this.isGone = new Uint8Array(count);
    this.grants = new Int32Array(count);
    const isBlocked = new Uint8Array(count);
    this.#lenders = members.map((_, borrower) => ({
      idleSlices: this.ledger.idleCounts,
      lentSlices: this.leases.lentCounts,
      pathBytesPerSecond: Float64Array.from(members, (__, lender) =>
        lender === borrower ? 0 : pathBytesPerSecond[lender * count + borrower]!,
      ),
      isRunning: this.isRunning,
      isBlocked,
    }));
  }

  /** Whether it offers or has lent slices, and so may not borrow. */
  isLender(engine: EngineId): boolean {
    return this.leases.lentCounts[engine]! > 0 || this.ledger.idleCounts[engine]! > 0;
  }

  /** @returns columns that are valid until the next call. */
  lendersOf(borrower: EngineId, nowNs: number): LenderColumns {
    const lenders = this.#lenders[borrower]!;
    for (let lender = 0; lender < this.engineCount; lender++) {
      const isBlocked = this.accounts.isBlocked(lender * this.engineCount + borrower, nowNs);
      lenders.isBlocked[lender] = isBlocked ? 1 : 0;
      if (lender === borrower) continue;
      lenders.pathBytesPerSecond[lender] = this.reads.readable(lender as EngineId, borrower);
    }
    return lenders;
  }

  /** The slice leaves its lease. @returns whether that met an obligation to the lender. */
  giveBack(slice: SliceId): boolean {
    const lender = this.ledger.ownerOf(slice);
    const borrower = this.leases.holderOf(slice)!;
    const wasOwed = this.leases.giveBack(slice);
    if (this.leases.lentTo(lender, borrower) === 0) this.reads.report(lender, borrower, 0);
    return wasOwed;
  }

  post(engine: EngineId, event: PoolEvent): void {
    this.counts[EVENT_COUNT[event.type]]++;
    this.mailboxes.post(engine, event);
  }
}
