/**
 * Brings what steps stage into the ring, layer group by layer group, ahead of the compute.
 *
 * Kept by the runner in real time. It is told which slots a step stages and how far the compute
 * has come; it fills the ring's two halves in turn, opens the gates of groups, and goes on with the
 * next step's first groups, which are a forecast: that it stages what this one did.
 *
 *     group g is done -> its half is free -> reserved for g + 2 -> copies -> gate of g + 2 known
 *
 * Groups are counted over all steps. What a half holds is remembered by slot and epoch, so that a
 * forecast is checked block by block; what it lacks is copied when the step comes.
 *
 * Invariants: a half holds blocks of one group; no copy into it is under way when its units get
 * other blocks, or when the ring's slices change.
 */

import { assert } from "../base/index.ts";
import type { CopyPiece } from "../device/index.ts";
import { StagingRing } from "../prefetch/index.ts";
import { arrivalCellOf, Gate } from "./compute-protocol.ts";
import type { CopyHub } from "./copy-hub.ts";
import { IngressQueue } from "./ingress-queue.ts";
import { addPiece, type KvGeometry } from "./kv-geometry.ts";
import { RingPlaces } from "./ring-places.ts";
import { RingUnits, type StagedBlock } from "./ring-units.ts";

const HALVES = 2;
/** A wake-up that came between a look and a wait is made up for after so long. */
const LOOK_AGAIN_MS = 1;

export interface StagingParts {
  readonly hub: CopyHub;
  readonly geometry: KvGeometry;
  readonly device: number;
  readonly gates: Int32Array;
  readonly now: () => number;
}

/** When the groups of a step are expected to begin. */
export interface StepClock {
  readonly firstNs: number;
  readonly groupNs: number;
}

interface Half {
  /** (units) what was asked for of its group. */
  blocks: (StagedBlock | undefined)[];
  readonly transfers: Set<number>;
}

export class Staging {
  readonly units = new RingUnits();
  /** Addresses of the ring's slices. */
  ringAddress: readonly number[] = [];
  readonly #parts: StagingParts;
  readonly #halves: readonly Half[];
  readonly #ended: number[] = [];
  /** (halves) what the arrival counters will be when all that was asked for has come. */
  readonly #expected: Int32Array;
  readonly #ring = new StagingRing(HALVES, Infinity);
  #ringKey = "";
  #places: RingPlaces;
  #clock: StepClock = { firstNs: 0, groupNs: 0 };
  #lookahead = Infinity;
  #hasStep = false;
  #isStaging = false;
  /** Of all groups ever: the first of the step in hand, and the next to fetch. */
  #base = 0;
  #next = 0;
  #done = 0;

  constructor(parts: StagingParts) {
    this.#parts = parts;
    this.#halves = Array.from({ length: HALVES }, () => ({ blocks: [], transfers: new Set() }));
    this.#places = new RingPlaces(parts.geometry, []);
    this.#expected = Int32Array.from({ length: HALVES }, (_, half) => this.#arrivals(half));
  }

  /** Bytes fetched for groups that nobody read. */
  get wastedBytes(): number {
    return this.#ring.wastedBytes;
  }

  /** The ring is of these slices from now on; what was fetched into others is dropped. */
  setRing(rows: readonly number[]): void {
    const key = rows.join(" ");
    if (key === this.#ringKey) return;
    this.#drop();
    this.#ringKey = key;
    this.ringAddress = rows.map((row) => this.#parts.geometry.rowAddress[row]!);
    this.#places = new RingPlaces(this.#parts.geometry, this.ringAddress);
    this.units.resize(this.#places.unitsPerHalf);
  }

  /**
   * The next step begins; it stages what `units` was given.
   * @param lookahead groups fetched beyond those that are done; 1 is fetching on demand
   */
  begin(clock: StepClock, lookahead = Infinity): void {
    const { groupCount } = this.#parts.geometry;
    const isOver = !this.#hasStep || this.#done === groupCount;
    assert(isOver, () => `staging: a step begins after ${this.#done} groups of the last`);
    if (this.#hasStep) this.#base += groupCount;
    this.#hasStep = true;
    this.#done = 0;
    this.#clock = clock;
    this.#lookahead = lookahead;
    this.#lay();
  }

  /** The rest of the step stages what `units` was given since. */
  relay(): void {
    this.#lay();
  }

  /** No step follows for now: what was fetched ahead is void. */
  rest(): void {
    if (this.#hasStep) this.#base += this.#parts.geometry.groupCount;
    this.#hasStep = false;
    this.#done = 0;
    this.#drop();
    this.#isStaging = false;
  }

  /** Takes note of how far the compute has come, and fetches what there is room for. */
  pump(groupsDone: number): void {
    this.#takeEnded();
    for (; this.#done < groupsDone; this.#done++) {
      const half = this.#ring.slotOf(this.#base + this.#done);
      if (half === null) continue;
      const { size } = this.#halves[half]!.transfers;
      assert(size === 0, () => `staging: a group was read with ${size} transfers under way`);
      this.#ring.arrived(half);
      this.#ring.begin(half);
      this.#ring.release(half);
    }
    if (this.#fetchMore()) this.#parts.hub.pump(this.#parts.now());
  }

  /** Gates and fetches of the groups that are left, for what is wanted now. */
  #lay(): void {
    const { groupCount } = this.#parts.geometry;
    const wasStaging = this.#isStaging;
    this.#isStaging = this.units.count > 0;
    const first = this.#base + this.#done;
    if (!this.#isStaging) this.#drop();
    else if (!wasStaging) this.#next = first;
    this.#next = Math.max(this.#next, first);
    if (!this.#isStaging) this.#next = this.#base + groupCount;
    for (let half = 0; half < HALVES; half++) this.#complete(half);
    for (let group = this.#done; group < groupCount; group++) {
      const half = this.#ring.slotOf(this.#base + group);
      if (half !== null) this.#open(group, half, this.#expected[half]!);
      else if (!this.#isStaging) this.#open(group, 0, this.#arrivals(0));
      else Atomics.store(this.#parts.gates, group * Gate.WORDS + Gate.Known, 0);
    }
    this.pump(this.#done);
  }

  /** Asks for what a half that was filled ahead lacks of the blocks that are wanted. */
  #complete(half: number): void {
    const { blocks } = this.#halves[half]!;
    const group = this.#groupIn(half);
    if (group < 0) return;
    const lacking: number[] = [];
    let isReplacing = false;
    this.units.forEach((block, unit) => {
      const there = blocks[unit];
      if (there?.handle === block.handle && there.epoch === block.epoch) return;
      lacking.push(unit);
      if (there !== undefined) isReplacing = true;
    });
    if (lacking.length === 0) return;
    if (isReplacing) this.#settle(half);
    this.#fetch(half, group, lacking);
  }

  #fetchMore(): boolean {
    if (!this.#isStaging) return false;
    const { groupCount } = this.#parts.geometry;
    const before = this.#next;
    const most = this.#lookahead < HALVES ? groupCount : groupCount + HALVES;
    const end = this.#base + Math.min(most, this.#done + this.#lookahead);
    for (; this.#next < end; this.#next++) {
      const bytes = this.units.count * this.#parts.geometry.groupBlockBytes(0);
      const half = this.#ring.reserve(this.#next, bytes);
      if (half === null) break;
      this.#halves[half]!.blocks = [];
      const units: number[] = [];
      this.units.forEach((_, unit) => units.push(unit));
      this.#fetch(half, this.#next, units);
      const group = this.#next - this.#base;
      if (group < groupCount) this.#open(group, half, this.#expected[half]!);
    }
    return this.#next > before;
  }

  /** One transfer for each place that blocks come from. */
  #fetch(half: number, group: number, units: readonly number[]): void {
    const { hub, geometry, device } = this.#parts;
    const index = (group - this.#base) % geometry.groupCount;
    const bytes = geometry.groupBlockBytes(index);
    const pieces = new Map<number, CopyPiece[]>();
    for (const unit of units) {
      const block = this.units.blockAt(unit)!;
      const list = pieces.get(block.place) ?? [];
      pieces.set(block.place, list);
      const source = geometry.blockAddress(block.handle, index);
      addPiece(list, source, this.#places.address(half, unit), bytes);
      this.#halves[half]!.blocks[unit] = block;
    }
    const deadlineNs = this.#clock.firstNs + (group - this.#base) * this.#clock.groupNs;
    const arrivalCell = arrivalCellOf(half);
    for (const [place, list] of pieces) {
      const path = { from: place, to: device };
      const transfer = { path, pieces: list, deadlineNs, arrivalCell };
      const total = list.reduce((sum, piece) => sum + piece.bytes, 0);
      this.#expected[half]! += IngressQueue.chunksOf(total);
      this.#halves[half]!.transfers.add(hub.push(device, transfer, "read", this.#ended));
    }
  }

  #open(group: number, half: number, arrivals: number): void {
    const { gates } = this.#parts;
    const first = group * Gate.WORDS;
    Atomics.store(gates, first + Gate.Half, half);
    Atomics.store(gates, first + Gate.Arrivals, arrivals);
    Atomics.store(gates, first + Gate.Known, 1);
    Atomics.notify(gates, first + Gate.Known);
  }

  /** Gives up what lies ready for groups that are not done, once nothing is copied there. */
  #drop(): void {
    for (let half = 0; half < HALVES; half++) {
      const { transfers } = this.#halves[half]!;
      for (const id of transfers) {
        this.#expected[half]! -= this.#parts.hub.cancel(this.#parts.device, id);
      }
      this.#settle(half);
      this.#halves[half]!.blocks = [];
      if (this.#groupIn(half) >= 0) this.#ring.drop(half);
    }
    this.#next = this.#base + this.#done;
  }

  /** Blocks until no copy into the half is under way, or the device has failed. */
  #settle(half: number): void {
    const { hub, device, now } = this.#parts;
    const { transfers } = this.#halves[half]!;
    for (;;) {
      const seen = Atomics.load(hub.arrivals(device), 0);
      hub.pump(now());
      this.#takeEnded();
      for (const id of transfers) if (!hub.isOpen(device, id)) transfers.delete(id);
      if (transfers.size === 0) return;
      hub.waitForArrival(device, seen, LOOK_AGAIN_MS);
    }
  }

  #takeEnded(): void {
    for (const id of this.#ended) {
      for (const { transfers } of this.#halves) transfers.delete(id);
    }
    this.#ended.length = 0;
  }

  /** @returns the group whose blocks are in a half, or -1: nobody's. */
  #groupIn(half: number): number {
    for (let group = this.#base + this.#done; group < this.#next; group++) {
      if (this.#ring.slotOf(group) === half) return group;
    }
    return -1;
  }

  #arrivals(half: number): number {
    const { hub, device } = this.#parts;
    return Atomics.load(hub.arrivals(device), arrivalCellOf(half));
  }
}
