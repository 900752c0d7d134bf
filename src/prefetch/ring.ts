/**
 * The staging ring: local slots into which layer groups are copied before they are read.
 *
 * Used by runners that move real bytes; costed runners replay the same rules (timeline.ts). It
 * knows groups by ever rising numbers over all steps, and counts bytes; where a slot lies is its
 * owner's. How many layers make a group is decided in group-layers.ts.
 *
 *     FREE --reserve--> FILLING --arrived--> READY --begin--> READING --release--> FREE
 *                          |                   |
 *                          +-------drop--------+----> FREE   a forecast was wrong: wasted bytes
 *
 * Invariants: a slot holds one group and a group one slot; nothing is read before it has arrived;
 * a slot that is read is not refilled.
 */

import { assert } from "../base/index.ts";

/** Where a group's bytes were when the compute wanted them. */
export type PrefetchOutcome = "hit" | "late" | "miss";

const FREE = 0;
const FILLING = 1;
const READY = 2;
const READING = 3;
const NO_GROUP = -1;

export class StagingRing {
  hits = 0;
  lates = 0;
  misses = 0;
  wastedBytes = 0;
  readonly #slotBytes: number;
  /** (slotCount) */
  readonly #state: Uint8Array;
  readonly #group: Float64Array;
  readonly #bytes: Float64Array;

  /** @param slotBytes of one slot: the largest group's staged bytes. */
  constructor(slotCount: number, slotBytes: number) {
    assert(slotCount >= 2, "staging ring: less than two slots cannot overlap copies and compute");
    this.#slotBytes = slotBytes;
    this.#state = new Uint8Array(slotCount);
    this.#group = new Float64Array(slotCount).fill(NO_GROUP);
    this.#bytes = new Float64Array(slotCount);
  }

  /** @returns the slot to copy into, or `null` when all are in use. */
  reserve(group: number, bytes: number): number | null {
    assert(bytes <= this.#slotBytes, () => `staging ring: ${bytes} of ${this.#slotBytes} bytes`);
    assert(this.slotOf(group) === null, () => `staging ring: group ${group} has a slot already`);
    const slot = this.#state.indexOf(FREE);
    if (slot < 0) return null;
    this.#state[slot] = FILLING;
    this.#group[slot] = group;
    this.#bytes[slot] = bytes;
    return slot;
  }

  /** @returns the slot that holds this group or will, or `null`. */
  slotOf(group: number): number | null {
    const slot = this.#group.indexOf(group);
    return slot < 0 ? null : slot;
  }

  /** All copies into the slot have ended. */
  arrived(slot: number): void {
    this.#move(slot, FILLING, READY);
  }

  /** The compute has reached this group: counts, once a group, where its bytes are. */
  want(group: number): PrefetchOutcome {
    const slot = this.slotOf(group);
    if (slot === null) {
      this.misses++;
      return "miss";
    }
    if (this.#state[slot] === FILLING) {
      this.lates++;
      return "late";
    }
    this.hits++;
    return "hit";
  }

  /** The compute starts to read the slot. */
  begin(slot: number): void {
    this.#move(slot, READY, READING);
  }

  /** The compute has read the slot for the last time. */
  release(slot: number): void {
    this.#move(slot, READING, FREE);
  }

  /** Gives up a group nobody will read; the caller knows that no copy into it is running. */
  drop(slot: number): void {
    const state = this.#state[slot];
    assert(state === FILLING || state === READY, () => `staging ring: drop in state ${state}`);
    this.wastedBytes += this.#bytes[slot]!;
    this.#move(slot, state, FREE);
  }

  #move(slot: number, source: number, target: number): void {
    const state = this.#state[slot];
    assert(state === source, () => `staging ring: slot ${slot} in state ${state}, not ${source}`);
    this.#state[slot] = target;
    if (target !== FREE) return;
    this.#group[slot] = NO_GROUP;
    this.#bytes[slot] = 0;
  }

  /** @throws AssertionFailure where a slot and its group disagree. */
  check(): void {
    for (let slot = 0; slot < this.#state.length; slot++) {
      const group = this.#group[slot]!;
      const isFree = this.#state[slot] === FREE;
      assert(isFree === (group === NO_GROUP), () => `staging ring: slot ${slot}, group ${group}`);
      assert(!isFree || this.#bytes[slot] === 0, () => `staging ring: free slot ${slot} has bytes`);
      assert(this.#bytes[slot]! <= this.#slotBytes, () => `staging ring: slot ${slot} overflows`);
      const isOnly = isFree || this.#group.lastIndexOf(group) === slot;
      assert(isOnly, () => `staging ring: group ${group} has two slots`);
    }
  }
}
