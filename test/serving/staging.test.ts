// Staging against a naive compute: whatever steps stage, in whatever order copies arrive and
// wherever steps are interrupted, a group that may run finds its own blocks in its half.

import fc from "fast-check";
import { expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import type { CopyPath, CopyPiece, DeviceCopies } from "../../src/device/index.ts";
import { createKvLayout } from "../../src/kvcache/index.ts";
import { arrivalCellOf, Gate } from "../../src/serving/compute-protocol.ts";
import { CopyHub } from "../../src/serving/copy-hub.ts";
import { KvGeometry } from "../../src/serving/kv-geometry.ts";
import { RingPlaces } from "../../src/serving/ring-places.ts";
import { Staging } from "../../src/serving/staging.ts";

const LAYERS = 5;
const GROUP_LAYERS = 2;
const SLICE_BLOCKS = 4;
/** Rows 0 to 3 are the device's own, and may be the ring's; the others are read from two places. */
const OWN_ROWS = 4;
const ROWS = 12;
const BLOCK_LAYER_BYTES = 16;
const SLICE_BYTES = LAYERS * BLOCK_LAYER_BYTES * SLICE_BLOCKS;
const FIRST_ADDRESS = 1024;

/** Copies whose bytes move when the test says so. */
class HeldCopies implements DeviceCopies {
  readonly arrivals = new Int32Array(new SharedArrayBuffer(16));
  readonly memory: Uint8Array;
  readonly #held: { id: number; pieces: readonly CopyPiece[]; cell: number }[] = [];
  readonly #ended: number[] = [];

  constructor(memory: Uint8Array) {
    this.memory = memory;
  }

  submit(
    id: number,
    _path: CopyPath,
    pieces: readonly CopyPiece[],
    _rate: number,
    _nowNs: number,
    cell = 0,
  ): void {
    this.#held.push({ id, pieces, cell });
  }

  get held(): number {
    return this.#held.length;
  }

  /** One of those under way arrives; any, as paths do not wait for each other. */
  arrive(choice: number): void {
    if (this.#held.length === 0) return;
    const [copy] = this.#held.splice(choice % this.#held.length, 1);
    for (const { sourceAddress, targetAddress, bytes } of copy!.pieces) {
      this.memory.copyWithin(targetAddress, sourceAddress, sourceAddress + bytes);
    }
    this.#ended.push(copy!.id);
    this.arrivals[copy!.cell]!++;
    this.arrivals[0]!++;
  }

  /** Staging that waits for the end of copies gets it: nothing else would make them end. */
  poll(): number {
    if (this.#hasFailed) throw new EmaError("E_DEVICE", "the copy thread has ended");
    if (this.isHurrying) this.arrive(0);
    return this.#ended.shift() ?? -1;
  }

  isHurrying = false;

  nextDueNs(): number {
    return Infinity;
  }

  /** While nobody hurries nothing arrives: the device has failed by then. */
  waitForArrival(): void {
    this.#hasFailed = !this.isHurrying;
  }

  #hasFailed = false;

  close(): void {}
}

interface Command {
  readonly kind: "arrive" | "pump" | "group" | "interrupt" | "rest";
  readonly choice: number;
  /** Of the next step, or of the rest of this one; half of the steps stage what the last did. */
  readonly slots: readonly number[];
  readonly ringRows: number;
}

const handles = fc.uniqueArray(
  fc.integer({ min: OWN_ROWS * SLICE_BLOCKS, max: ROWS * SLICE_BLOCKS - 1 }),
  { maxLength: 10 },
);
const OFTEN = ["arrive", "arrive", "arrive", "group", "group", "group", "pump", "pump"] as const;
const command: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom(...OFTEN, "interrupt", "rest"),
  choice: fc.nat(50),
  slots: handles,
  ringRows: fc.constantFrom(2, 2, 2, OWN_ROWS, 1),
});

/** The step in hand, as a compute thread would carry it out. */
class Bench {
  readonly copies: HeldCopies;
  readonly gates: Int32Array;
  readonly geometry: KvGeometry;
  readonly staging: Staging;
  groupsRun = 0;
  staged = 0;
  #group = 0;
  #isRunning = false;
  #places: RingPlaces;
  #units = new Map<number, number>();
  #slots: readonly number[] = [];

  constructor() {
    const memory = new Uint8Array(FIRST_ADDRESS + ROWS * SLICE_BYTES);
    for (let at = 0; at < memory.length; at++) memory[at] = (at * 31 + (at >> 6)) % 251;
    this.copies = new HeldCopies(memory);
    const layout = createKvLayout(LAYERS * BLOCK_LAYER_BYTES, LAYERS, 1, SLICE_BYTES);
    const rows = Float64Array.from({ length: ROWS }, (_, row) => FIRST_ADDRESS + row * SLICE_BYTES);
    this.geometry = new KvGeometry(layout, GROUP_LAYERS, rows);
    this.gates = new Int32Array(new SharedArrayBuffer(this.geometry.groupCount * Gate.WORDS * 4));
    const hub = new CopyHub([this.copies], 3, () => Infinity);
    const now = (): number => 0;
    const { geometry, gates } = this;
    this.staging = new Staging({ hub, geometry, device: 0, gates, now });
    this.#hub = hub;
    this.#places = new RingPlaces(geometry, []);
  }

  readonly #hub: CopyHub;

  run({ kind, choice, slots, ringRows }: Command): void {
    const isOver = this.#group === this.geometry.groupCount;
    if (kind === "arrive") this.copies.arrive(choice);
    else if (kind === "pump") this.#pump();
    else if (kind === "group") this.#advance(choice % 2 === 0 ? this.#slots : slots, ringRows);
    else if (kind === "interrupt" && this.#isRunning) this.#relay(slots, ringRows);
    else if (kind === "rest" && choice < 10 && (!this.#isRunning || isOver)) this.#rest();
  }

  /** Lets copies arrive until the step can end. */
  finish(): void {
    for (let tries = 0; this.#isRunning && this.#group < this.geometry.groupCount; tries++) {
      expect(tries).toBeLessThan(1000);
      this.copies.arrive(tries);
      this.#pump();
      this.#runGroup();
    }
    this.#rest();
    expect(this.copies.held).toBe(0);
  }

  #advance(slots: readonly number[], ringRows: number): void {
    if (!this.#isRunning || this.#group === this.geometry.groupCount) {
      this.#pump();
      this.#lay(slots, ringRows, "begin");
    }
    this.#runGroup();
  }

  #relay(slots: readonly number[], ringRows: number): void {
    this.#pump();
    this.#lay(slots, ringRows, "relay");
  }

  #lay(slots: readonly number[], ringRows: number, how: "begin" | "relay"): void {
    this.copies.isHurrying = true;
    const rows = Array.from({ length: ringRows }, (_, row) => row);
    this.staging.setRing(rows);
    const { units } = this.staging;
    units.assign(slots.map((handle) => ({ handle, epoch: 0, place: 1 + (handle % 2) })));
    if (how === "begin") {
      this.#group = 0;
      this.#isRunning = true;
      this.staging.begin({ firstNs: 0, groupNs: 1 });
    } else {
      this.staging.relay();
    }
    this.copies.isHurrying = false;
    this.#slots = slots;
    this.#units = new Map();
    for (const handle of slots) {
      if (units.unitOf(handle) >= 0) this.#units.set(handle, units.unitOf(handle));
    }
    const addresses = rows.map((row) => this.geometry.rowAddress[row]!);
    this.#places = new RingPlaces(this.geometry, addresses);
  }

  /** Runs the next group if its gate is open, and looks at what it would read. */
  #runGroup(): void {
    const first = this.#group * Gate.WORDS;
    if (!this.#isRunning || this.gates[first + Gate.Known] !== 1) return;
    const half = this.gates[first + Gate.Half]!;
    const arrived = this.copies.arrivals[arrivalCellOf(half)]!;
    if (this.gates[first + Gate.Arrivals]! - arrived > 0) return;
    const bytes = this.geometry.groupBlockBytes(this.#group);
    const { memory } = this.copies;
    for (const [handle, unit] of this.#units) {
      const source = this.geometry.blockAddress(handle, this.#group);
      const target = this.#places.address(half, unit);
      const staged = memory.slice(target, target + bytes);
      expect(staged).toStrictEqual(memory.slice(source, source + bytes));
      this.staged++;
    }
    this.#group++;
    this.groupsRun++;
  }

  #pump(): void {
    this.#hub.pump(0);
    this.staging.pump(this.#isRunning ? this.#group : 0);
  }

  #rest(): void {
    this.#pump();
    this.copies.isHurrying = true;
    this.staging.rest();
    this.copies.isHurrying = false;
    this.#isRunning = false;
  }
}

it("a group that may run finds its own blocks in its half of the ring", () => {
  let [groups, staged] = [0, 0];
  fc.assert(
    fc.property(fc.array(command, { minLength: 60, maxLength: 200 }), (commands) => {
      const bench = new Bench();
      for (const each of commands) bench.run(each);
      bench.finish();
      groups += bench.groupsRun;
      staged += bench.staged;
    }),
    { numRuns: 300 },
  );
  expect(groups).toBeGreaterThan(100);
  expect(staged).toBeGreaterThan(100);
});

it("waits no longer for copies of a device that fails meanwhile", () => {
  const bench = new Bench();
  bench.run({ kind: "group", choice: 1, slots: [20, 21], ringRows: 2 });
  expect(bench.copies.held).toBeGreaterThan(0);
  bench.staging.setRing([2, 3]);
  expect(() => bench.copies.poll()).toThrow(/has ended/);
});
