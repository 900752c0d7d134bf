/**
 * Who holds which slices of whom, and how many of them a lender has asked back.
 *
 * Used by the pool alone; it does not know states and epochs (ledger.ts), nor which recall an
 * obligation came from (recall-book.ts). One lease a grant. A lease is a row of columns; rows are
 * reused, ids are not. The rows of one (lender, borrower) pair form a chain, those with something
 * under recall first; the slices of one lease form a chain as well:
 *
 *    pair (l, b)   first -> [lease 7: 4 slices, 2 recalled] -> [lease 3: 8, 0] -> last
 *                                 |
 *                            slice 12 -> slice 40 -> slice 41 -> slice 13
 *
 * An obligation belongs to the pair: the borrower may give back any slices of that lender, so that
 * it can choose the cheapest. One from a lease not under recall counts for a lease that is.
 *
 * Invariants (check()): per lease 0 <= demanded <= recalled <= size; pair and lender totals equal
 * the sums over their leases; leases under recall lead their chain.
 */

import { assert, leaseId, type EngineId, type LeaseId, type SliceId } from "../base/index.ts";
import { apportion } from "./apportion.ts";
import { Chains } from "./chains.ts";
import type { RecallKind } from "./commands.ts";

const NONE = -1;

/** What one lease must give back because of one recall. */
export interface RecallShare {
  readonly lease: LeaseId;
  readonly borrower: EngineId;
  readonly count: number;
}

export interface SpreadRecall {
  readonly shares: readonly RecallShare[];
  /** Slices newly under recall; and slices under a refill recall that became demanded. */
  readonly freshCount: number;
  readonly upgradedCount: number;
}

/** Leases of one server. Rows never outnumber slices, so no column ever grows. */
export class Leases {
  /** (engines) slices lent by lender, borrowed by borrower; live views, not to be written. */
  readonly lentCounts: Int32Array;
  readonly borrowedCounts: Int32Array;
  /** (engines) engines that hold slices of a lender. */
  readonly borrowerCounts: Int32Array;
  /** (engines) slices under recall by lender, of either kind and of kind demand. */
  readonly recalledCounts: Int32Array;
  readonly demandedCounts: Int32Array;

  readonly #engineCount: number;
  // (lenders x borrowers)
  readonly #pairLent: Int32Array;
  readonly #pairRecalled: Int32Array;
  // (rows)
  readonly #id: Float64Array;
  readonly #pair: Int32Array;
  readonly #size: Int32Array;
  readonly #recalled: Int32Array;
  readonly #demanded: Int32Array;
  readonly #freeRows: number[] = [];
  readonly #rowOf: Int32Array; // (slices)
  readonly #rowsOfPair: Chains;
  readonly #slicesOfRow: Chains;
  #rowCount = 0;
  #nextId = 0;

  constructor(engineCount: number, sliceCount: number) {
    const pairs = engineCount * engineCount;
    this.#engineCount = engineCount;
    this.lentCounts = new Int32Array(engineCount);
    this.borrowedCounts = new Int32Array(engineCount);
    this.borrowerCounts = new Int32Array(engineCount);
    this.recalledCounts = new Int32Array(engineCount);
    this.demandedCounts = new Int32Array(engineCount);
    this.#pairLent = new Int32Array(pairs);
    this.#pairRecalled = new Int32Array(pairs);
    this.#id = new Float64Array(sliceCount);
    this.#pair = new Int32Array(sliceCount).fill(NONE);
    this.#size = new Int32Array(sliceCount);
    this.#recalled = new Int32Array(sliceCount);
    this.#demanded = new Int32Array(sliceCount);
    this.#rowOf = new Int32Array(sliceCount).fill(NONE);
    this.#rowsOfPair = new Chains(pairs, sliceCount);
    this.#slicesOfRow = new Chains(sliceCount, sliceCount);
  }

  lentTo(lender: EngineId, borrower: EngineId): number {
    return this.#pairLent[lender * this.#engineCount + borrower]!;
  }

  /** @returns the borrower that holds `slice`, or `null` when none does. */
  holderOf(slice: SliceId): EngineId | null {
    const row = this.#rowOf[slice]!;
    return row === NONE ? null : ((this.#pair[row]! % this.#engineCount) as EngineId);
  }

  /** Opens a lease over slices that nobody holds; at least one. */
  open(lender: EngineId, borrower: EngineId, slices: readonly SliceId[]): LeaseId {
    const row = this.#freeRows.pop() ?? this.#rowCount++;
    const pair = lender * this.#engineCount + borrower;
    this.#id[row] = this.#nextId++;
    this.#pair[row] = pair;
    this.#size[row] = slices.length;
    for (const slice of slices) {
      assert(this.#rowOf[slice] === NONE, () => `leases: slice ${slice} is held already`);
      this.#rowOf[slice] = row;
      this.#slicesOfRow.append(row, slice);
    }
    this.#rowsOfPair.append(pair, row);
    if (this.#pairLent[pair] === 0 && slices.length > 0) this.borrowerCounts[lender]!++;
    this.#pairLent[pair]! += slices.length;
    this.lentCounts[lender]! += slices.length;
    this.borrowedCounts[borrower]! += slices.length;
    return leaseId(this.#id[row]!);
  }

  /**
   * A held slice leaves its lease; a lease without slices ends.
   * @returns whether that met an obligation to the lender.
   */
  giveBack(slice: SliceId): boolean {
    const row = this.#rowOf[slice]!;
    assert(row !== NONE, () => `leases: nobody holds slice ${slice}`);
    const pair = this.#pair[row]!;
    const lender = Math.floor(pair / this.#engineCount);
    this.#slicesOfRow.remove(row, slice);
    this.#rowOf[slice] = NONE;
    this.#size[row]!--;
    this.#pairLent[pair]!--;
    if (this.#pairLent[pair] === 0) this.borrowerCounts[lender]!--;
    this.lentCounts[lender]!--;
    this.borrowedCounts[pair % this.#engineCount]!--;
    const isOwed = this.#pairRecalled[pair]! > 0;
    if (isOwed) {
      // Leases under recall lead the chain, so the first has something to discharge.
      const owing = this.#recalled[row]! > 0 ? row : this.#rowsOfPair.first(pair);
      this.#discharge(owing, pair, lender);
    }
    if (this.#size[row] === 0) {
      this.#rowsOfPair.remove(pair, row);
      this.#pair[row] = NONE;
      this.#freeRows.push(row);
    }
    return isOwed;
  }

  /**
   * Puts up to `count` slices of `lender` under recall, over its leases in proportion to what each
   * may still be asked. A demand that finds too little left to ask upgrades refill obligations.
   * Costs the number of leases of the lender.
   */
  recall(lender: EngineId, count: number, kind: RecallKind): SpreadRecall {
    const rows = this.#rowsOf(lender);
    const fresh = apportion(count, rows.map((row) => this.#size[row]! - this.#recalled[row]!));
    const freshCount = fresh.reduce((sum, part) => sum + part, 0);
    const isDemand = kind === "demand";
    const refills = rows.map((row) => this.#recalled[row]! - this.#demanded[row]!);
    const upgraded = apportion(isDemand ? count - freshCount : 0, refills);
    const upgradedCount = upgraded.reduce((sum, part) => sum + part, 0);
    const shares: RecallShare[] = [];
    rows.forEach((row, index) => {
      const sum = fresh[index]! + upgraded[index]!;
      if (sum === 0) return;
      const pair = this.#pair[row]!;
      if (this.#recalled[row] === 0) {
        this.#rowsOfPair.remove(pair, row);
        this.#rowsOfPair.prepend(pair, row);
      }
      this.#recalled[row]! += fresh[index]!;
      if (isDemand) this.#demanded[row]! += sum;
      this.#pairRecalled[pair]! += fresh[index]!;
      const borrower = (pair % this.#engineCount) as EngineId;
      shares.push({ lease: leaseId(this.#id[row]!), borrower, count: sum });
    });
    this.recalledCounts[lender]! += freshCount;
    if (isDemand) this.demandedCounts[lender]! += freshCount + upgradedCount;
    return { shares, freshCount, upgradedCount };
  }

  /** All slices of `lender` that `borrower` holds, lease by lease. */
  slicesOf(lender: EngineId, borrower: EngineId): SliceId[] {
    const slices: SliceId[] = [];
    let row = this.#rowsOfPair.first(lender * this.#engineCount + borrower);
    for (; row !== NONE; row = this.#rowsOfPair.next(row)) {
      let slice = this.#slicesOfRow.first(row);
      for (; slice !== NONE; slice = this.#slicesOfRow.next(slice)) slices.push(slice as SliceId);
    }
    return slices;
  }

  check(): void {
    this.#rowsOfPair.check();
    this.#slicesOfRow.check();
    const lent = new Int32Array(this.#engineCount);
    const borrowed = new Int32Array(this.#engineCount);
    const borrowers = new Int32Array(this.#engineCount);
    const recalled = new Int32Array(this.#engineCount);
    const demanded = new Int32Array(this.#engineCount);
    let held = 0;
    for (let pair = 0; pair < this.#pairLent.length; pair++) {
      const lender = Math.floor(pair / this.#engineCount);
      const sums = this.#checkPair(pair);
      lent[lender]! += sums.size;
      if (sums.size > 0) borrowers[lender]!++;
      borrowed[pair % this.#engineCount]! += sums.size;
      recalled[lender]! += sums.recalled;
      demanded[lender]! += sums.demanded;
      held += sums.size;
    }
    for (const row of this.#rowOf) if (row !== NONE) held--;
    assert(held === 0, () => `leases: chains hold ${held} slices more than there are holders`);
    const equal = (name: string, kept: Int32Array, counted: Int32Array): void => {
      const text = `leases: ${name} kept [${kept}], counted [${counted}]`;
      assert(kept.every((value, index) => value === counted[index]), text);
    };
    equal("lent", this.lentCounts, lent);
    equal("borrowed", this.borrowedCounts, borrowed);
    equal("borrower", this.borrowerCounts, borrowers);
    equal("recalled", this.recalledCounts, recalled);
    equal("demanded", this.demandedCounts, demanded);
  }

  #checkPair(pair: number): { size: number; recalled: number; demanded: number } {
    const sums = { size: 0, recalled: 0, demanded: 0 };
    let isUnderRecall = true;
    let row = this.#rowsOfPair.first(pair);
    for (; row !== NONE; row = this.#rowsOfPair.next(row)) {
      const [size, recalled] = [this.#size[row]!, this.#recalled[row]!];
      const demanded = this.#demanded[row]!;
      const text = (): string => `leases: row ${row} of pair ${pair}: ${size} slices, ` +
        `${recalled} recalled, ${demanded} demanded`;
      assert(size > 0 && this.#pair[row] === pair, text);
      assert(demanded >= 0 && demanded <= recalled && recalled <= size, text);
      assert(isUnderRecall || recalled === 0, () => `${text()}: not in front of its chain`);
      isUnderRecall = recalled > 0;
      let slices = 0;
      let slice = this.#slicesOfRow.first(row);
      for (; slice !== NONE; slice = this.#slicesOfRow.next(slice)) {
        assert(this.#rowOf[slice] === row, () => `leases: slice ${slice} is not of row ${row}`);
        slices++;
      }
      assert(slices === size, () => `${text()}: its chain holds ${slices}`);
      sums.size += size;
      sums.recalled += recalled;
      sums.demanded += demanded;
    }
    const [lent, owed] = [this.#pairLent[pair]!, this.#pairRecalled[pair]!];
    assert(
      lent === sums.size,
      () => `leases: pair ${pair} keeps ${lent} lent, counted ${sums.size}`,
    );
    assert(
      owed === sums.recalled,
      () => `leases: pair ${pair} keeps ${owed} owed, ${sums.recalled}`,
    );
    return sums;
  }

  /** Rows of a lender's leases, oldest lease first. */
  #rowsOf(lender: EngineId): number[] {
    const rows: number[] = [];
    for (let borrower = 0; borrower < this.#engineCount; borrower++) {
      let row = this.#rowsOfPair.first(lender * this.#engineCount + borrower);
      for (; row !== NONE; row = this.#rowsOfPair.next(row)) rows.push(row);
    }
    return rows.sort((a, b) => this.#id[a]! - this.#id[b]!);
  }

  /** One obligation of `row` is met; a demanded one first. */
  #discharge(row: number, pair: number, lender: number): void {
    this.#recalled[row]!--;
    this.#pairRecalled[pair]!--;
    this.recalledCounts[lender]!--;
    if (this.#demanded[row]! > 0) {
      this.#demanded[row]!--;
      this.demandedCounts[lender]!--;
    }
    if (this.#recalled[row] === 0) {
      this.#rowsOfPair.remove(pair, row);
      this.#rowsOfPair.append(pair, row);
    }
  }
}
