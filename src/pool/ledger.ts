/**
 * Who owns each slice, what state it is in, and its epoch.
 *
 * Used by the pool alone. It knows neither who borrowed a slice (leases.ts) nor why. The idle
 * slices of an engine form a stack inside the engine's own range of one array, so that the slices
 * touched last are lent or withdrawn first and nothing is ever allocated:
 *
 *    #idleStack   | engine 0: 3 1 . . | engine 1: . . . | engine 2: 9 8 7 |
 *                     idleCounts 2        idleCounts 0      idleCounts 3
 *
 * Invariants (check()): the four states of an engine's slices add up to its slices; its stack holds
 * exactly its IDLE slices; an epoch never decreases.
 */

import { assert, sliceId, type EngineId, type SliceId } from "../base/index.ts";

const OWN = 0;
const IDLE = 1;
const LENT = 2;
const GONE = 3;
const STATE_NAMES = ["OWN", "IDLE", "LENT", "GONE"] as const;

export type SliceState = (typeof STATE_NAMES)[number];

/** Transitions of single slices; each asserts the state it starts from. */
export class SliceLedger {
  /** (engines) slices IDLE and LENT by owner; live views, not to be written by others. */
  readonly idleCounts: Int32Array;
  readonly lentCounts: Int32Array;
  readonly #firstSlice: Int32Array; // (engines + 1)
  readonly #state: Uint8Array; // (slices)
  readonly #owner: Uint16Array; // (slices)
  readonly #epoch: Float64Array; // (slices)
  readonly #idleStack: Int32Array; // (slices)
  /** Epochs as the last check() saw them. */
  readonly #checkedEpoch: Float64Array; // (slices)

  /** @param sliceCounts slices of each engine; ids are dense in this order. */
  constructor(sliceCounts: readonly number[]) {
    this.idleCounts = new Int32Array(sliceCounts.length);
    this.lentCounts = new Int32Array(sliceCounts.length);
    this.#firstSlice = new Int32Array(sliceCounts.length + 1);
    sliceCounts.forEach((count, engine) => {
      assert(
        Number.isInteger(count) && count >= 0,
        () => `ledger: ${count} slices for engine ${engine}`,
      );
      this.#firstSlice[engine + 1] = this.#firstSlice[engine]! + count;
    });
    const total = this.#firstSlice[sliceCounts.length]!;
    this.#state = new Uint8Array(total);
    this.#owner = new Uint16Array(total);
    this.#epoch = new Float64Array(total);
    this.#idleStack = new Int32Array(total);
    this.#checkedEpoch = new Float64Array(total);
    sliceCounts.forEach((_, engine) => {
      this.#owner.fill(engine, this.#firstSlice[engine]!, this.#firstSlice[engine + 1]!);
    });
  }

  get sliceCount(): number {
    return this.#state.length;
  }

  firstSliceOf(engine: EngineId): SliceId {
    return sliceId(this.#firstSlice[engine]!);
  }

  /** One past the last slice of `engine`. */
  endSliceOf(engine: EngineId): SliceId {
    return sliceId(this.#firstSlice[engine + 1]!);
  }

  ownerOf(slice: SliceId): EngineId {
    assert(slice >= 0 && slice < this.#owner.length, () => `ledger: no slice ${slice}`);
    return this.#owner[slice] as EngineId;
  }

  epochOf(slice: SliceId): number {
    return this.#epoch[slice]!;
  }

  stateOf(slice: SliceId): SliceState {
    return STATE_NAMES[this.#state[slice]!]!;
  }

  /** OWN to IDLE. */
  offer(slice: SliceId): void {
    this.#move(slice, OWN, IDLE);
    const owner = this.#owner[slice]!;
    this.#idleStack[this.#firstSlice[owner]! + this.idleCounts[owner]!] = slice;
    this.idleCounts[owner]!++;
  }

  /** IDLE to OWN. The caller knows that one is idle. */
  withdraw(owner: EngineId): SliceId {
    return this.#popIdle(owner, OWN);
  }

  /** IDLE to LENT. The caller knows that one is idle. */
  lend(owner: EngineId): SliceId {
    const slice = this.#popIdle(owner, LENT);
    this.lentCounts[owner]!++;
    return slice;
  }

  /** LENT to OWN under a new epoch: what was read under the old one is void from now on. */
  takeBack(slice: SliceId): void {
    this.#move(slice, LENT, OWN);
    this.#epoch[slice]!++;
    this.lentCounts[this.#owner[slice]!]!--;
  }

  /**
   * All slices of an engine become GONE, LENT ones under a new epoch.
   * @returns how many were in each state.
   */
  lose(owner: EngineId): { own: number; idle: number; lent: number } {
    const before = { own: 0, idle: this.idleCounts[owner]!, lent: this.lentCounts[owner]! };
    for (let slice = this.#firstSlice[owner]!; slice < this.#firstSlice[owner + 1]!; slice++) {
      if (this.#state[slice] === OWN) before.own++;
      if (this.#state[slice] === LENT) this.#epoch[slice]!++;
      this.#state[slice] = GONE;
    }
    this.idleCounts[owner] = 0;
    this.lentCounts[owner] = 0;
    return before;
  }

  check(): void {
    for (let owner = 0; owner + 1 < this.#firstSlice.length; owner++) this.#checkOwner(owner);
    for (let slice = 0; slice < this.#epoch.length; slice++) {
      const [now, seen] = [this.#epoch[slice]!, this.#checkedEpoch[slice]!];
      assert(now >= seen, () => `ledger: epoch of slice ${slice} fell from ${seen} to ${now}`);
      this.#checkedEpoch[slice] = now;
    }
  }

  #checkOwner(owner: number): void {
    const first = this.#firstSlice[owner]!;
    const end = this.#firstSlice[owner + 1]!;
    const counted = [0, 0, 0, 0];
    for (let slice = first; slice < end; slice++) {
      assert(this.#owner[slice] === owner, () => `ledger: slice ${slice} changed its owner`);
      counted[this.#state[slice]!]!++;
    }
    const { [IDLE]: idle, [LENT]: lent } = counted;
    const [idleKept, lentKept] = [this.idleCounts[owner]!, this.lentCounts[owner]!];
    assert(
      idle === idleKept,
      () => `ledger: engine ${owner} has ${idle} IDLE, counted ${idleKept}`,
    );
    assert(
      lent === lentKept,
      () => `ledger: engine ${owner} has ${lent} LENT, counted ${lentKept}`,
    );
    const stack = this.#idleStack.subarray(first, first + idleKept);
    assert(
      new Set(stack).size === idleKept,
      () => `ledger: idle stack of ${owner} repeats a slice`,
    );
    for (const slice of stack) {
      const isIdle = slice >= first && slice < end && this.#state[slice] === IDLE;
      assert(isIdle, () => `ledger: idle stack of ${owner} holds slice ${slice}`);
    }
  }

  #popIdle(owner: EngineId, target: number): SliceId {
    assert(this.idleCounts[owner]! > 0, () => `ledger: engine ${owner} has no IDLE slice`);
    const top = --this.idleCounts[owner]!;
    const slice = sliceId(this.#idleStack[this.#firstSlice[owner]! + top]!);
    this.#move(slice, IDLE, target);
    return slice;
  }

  #move(slice: SliceId, source: number, target: number): void {
    const state = this.#state[slice];
    assert(
      state === source,
      () => `ledger: slice ${slice} is ${STATE_NAMES[state ?? -1]}, not ${STATE_NAMES[source]}`,
    );
    this.#state[slice] = target;
  }
}
