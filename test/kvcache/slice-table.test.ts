/** The slice table against a Map of rows: random commands, every count and choice compared. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowState, SliceTable } from "../../src/kvcache/index.ts";

const BLOCKS_PER_SLICE = 3;
const SOURCES = [0, 0, 0, 1, 1, 2, 2, 0];
const SOURCE_COUNT = 4;

interface Row {
  state: RowState;
  /** Slot to owner and index. */
  readonly slots: Map<number, string>;
}

class Model {
  readonly rows = new Map<number, Row>();
  readonly ever = new Set<string>();

  constructor() {
    SOURCES.forEach((_, row) => this.rows.set(row, { state: RowState.Absent, slots: new Map() }));
  }

  row(row: number): Row {
    return this.rows.get(row)!;
  }

  of(source: number): [number, Row][] {
    return [...this.rows].filter(([row]) => SOURCES[row] === source);
  }

  usable(source: number): [number, Row][] {
    return this.of(source).filter(([, row]) => row.state === RowState.Usable);
  }

  compare(real: SliceTable): void {
    real.check();
    const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
    for (let source = 0; source < SOURCE_COUNT; source++) {
      const all = this.of(source).map(([, row]) => row);
      const usable = this.usable(source);
      const room = usable.map(([, row]) => BLOCKS_PER_SLICE - row.slots.size);
      const empty = usable.filter(([, row]) => row.slots.size === 0).map(([row]) => row);
      expect(real.freeBlocks[source]).toBe(sum(room));
      expect(real.usedBlocks[source]).toBe(sum(all.map((row) => row.slots.size)));
      expect(real.heldRows[source]).toBe(
        all.filter((row) => row.state !== RowState.Absent).length,
      );
      expect(real.emptyRows[source]).toBe(empty.length);
      expect(walk(real, source).sort()).toEqual(empty.sort());
      const least = Math.min(...room.filter((free) => free > 0));
      const fullest = real.fullestRow(source);
      if (least === Infinity) expect(fullest).toBe(-1);
      else expect(usable.find(([row]) => row === fullest)?.[1].slots.size).toBe(
        BLOCKS_PER_SLICE - least,
      );
    }
    for (const [row, { state, slots }] of this.rows) {
      expect(real.state[row]).toBe(state);
      for (let slot = 0; slot < BLOCKS_PER_SLICE; slot++) {
        const handle = row * BLOCKS_PER_SLICE + slot;
        const owner = real.slotOwner[handle];
        expect(owner === -1 ? undefined : `${owner}.${real.slotIndex[handle]}`).toBe(
          slots.get(slot),
        );
      }
    }
  }
}

/** All rows in the list of empty ones. */
function walk(real: SliceTable, source: number): number[] {
  const rows: number[] = [];
  for (let row = real.emptyRow(source); row >= 0; row = real.nextInList(row)) rows.push(row);
  return rows;
}

type Act =
  | "admit"
  | "close"
  | "reopen"
  | "drop"
  | "reserve"
  | "release"
  | "take"
  | "take-run"
  | "free"
  | "free-run";

/** One act on one row: a misuse must be an assertion that leaves everything as it was. */
class Step implements fc.Command<Model, SliceTable> {
  readonly act: Act;
  readonly row: number;
  readonly slot: number;
  readonly #handles = new Int32Array(SOURCES.length + BLOCKS_PER_SLICE);
  constructor(act: Act, row: number, slot: number) {
    this.act = act;
    this.row = row;
    this.slot = slot;
  }

  check(): boolean {
    return true;
  }

  run(model: Model, real: SliceTable): void {
    if (this.#isAllowed(model.row(this.row))) {
      model.ever.add(this.act);
      this.#apply(model, real);
    } else {
      expect(() => this.#call(model, real)).toThrow("slice table");
    }
    model.compare(real);
  }

  #isAllowed({ state, slots }: Row): boolean {
    switch (this.act) {
      case "admit":
        return state === RowState.Absent;
      case "close":
        return state === RowState.Usable;
      case "reopen":
        return state === RowState.Closing;
      case "drop":
        return state !== RowState.Absent && slots.size === 0;
      case "reserve":
        return state === RowState.Usable && slots.size === 0 && SOURCES[this.row] === 0;
      case "release":
        return state === RowState.Ring;
      case "take":
      case "take-run":
        return state === RowState.Usable && slots.size < BLOCKS_PER_SLICE;
      case "free":
      case "free-run":
        return slots.has(this.slot);
    }
  }

  #apply(model: Model, real: SliceTable): void {
    const row = model.row(this.row);
    const result = this.#call(model, real);
    if (this.act === "free") row.slots.delete(this.slot);
    else if (this.act === "free-run") this.#freed(row, result);
    else if (this.act === "take-run") this.#taken(row, result);
    else if (this.act === "take") {
      expect(Math.floor(result / BLOCKS_PER_SLICE)).toBe(this.row);
      const slot = result % BLOCKS_PER_SLICE;
      expect(row.slots.has(slot)).toBe(false);
      row.slots.set(slot, `${this.slot}.${this.row}`);
    } else if (this.act === "drop") row.state = RowState.Absent;
    else if (this.act === "close") row.state = RowState.Closing;
    else if (this.act === "reserve") row.state = RowState.Ring;
    else row.state = RowState.Usable;
  }

  /** The run has every taken slot from this one on; the entry after it lies in another row. */
  #freed(row: Row, stoppedBefore: number): void {
    const slots = this.#takenFrom(row);
    expect(stoppedBefore).toBe(slots.length);
    for (const slot of slots) row.slots.delete(slot);
  }

  #takenFrom(row: Row): number[] {
    return [...row.slots.keys()].sort().filter((slot) => slot >= this.slot);
  }

  /** As many as were asked for, or as there is room for, lowest slots first. */
  #taken(row: Row, count: number): void {
    expect(count).toBe(Math.min(this.slot + 1, BLOCKS_PER_SLICE - row.slots.size));
    for (let at = 0; at < count; at++) {
      let slot = 0;
      while (row.slots.has(slot)) slot++;
      row.slots.set(slot, `${this.slot}.${this.row + at}`);
      expect(this.#handles[this.row + at]).toBe(this.row * BLOCKS_PER_SLICE + slot);
    }
  }

  #call(model: Model, real: SliceTable): number {
    const { row, slot } = this;
    switch (this.act) {
      case "admit":
        return real.admit(row) ?? 0;
      case "close":
        return real.close(row) ?? 0;
      case "reopen":
        return real.reopen(row) ?? 0;
      case "drop":
        return real.drop(row) ?? 0;
      case "reserve":
        return real.reserveForRing(row) ?? 0;
      case "release":
        return real.releaseFromRing(row) ?? 0;
      case "take":
        return real.take(row, slot, row);
      case "take-run":
        return real.takeRun(row, slot, row, slot + 1, this.#handles);
      case "free-run": {
        const other = (row + 1) % SOURCES.length;
        const taken = this.#takenFrom(model.row(row)).map((at) => row * BLOCKS_PER_SLICE + at);
        const run = taken.length > 0 ? taken : [row * BLOCKS_PER_SLICE + slot];
        const handles = Int32Array.of(...run, other * BLOCKS_PER_SLICE);
        return real.freeRun(handles, 0, handles.length);
      }
      case "free":
        return real.free(row * BLOCKS_PER_SLICE + slot) ?? 0;
    }
  }

  toString(): string {
    return `${this.act} ${this.row}.${this.slot}`;
  }
}

function newTable(): SliceTable {
  return new SliceTable(Int16Array.from(SOURCES), SOURCE_COUNT, BLOCKS_PER_SLICE);
}

const row = fc.nat(SOURCES.length - 1);
const slot = fc.nat(BLOCKS_PER_SLICE - 1);
const act = fc.oneof(
  { weight: 5, arbitrary: fc.constant("take" as const) },
  { weight: 4, arbitrary: fc.constantFrom<Act>("admit", "free", "take-run", "free-run") },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Act>("close", "reopen", "drop", "reserve", "release"),
  },
);
const step = fc.tuple(act, row, slot).map((args) => new Step(...args));

it("does what a map of rows does, whatever the commands", () => {
  const ever = new Set<string>();
  fc.assert(
    fc.property(fc.commands([step], { maxCommands: 150, size: "max" }), (steps) => {
      const model = new Model();
      fc.modelRun(() => ({ model, real: newTable() }), steps);
      for (const name of model.ever) ever.add(name);
    }),
    { numRuns: 25, seed: 4 },
  );
  expect([...ever].sort()).toEqual([
    "admit", "close", "drop", "free", "free-run", "release", "reopen", "reserve", "take",
    "take-run",
  ]);
});

describe("misuse", () => {
  it("a double free is an assertion, also of the last slot of the table", () => {
    const table = newTable();
    table.admit(7);
    const handle = table.take(7, 1, 0);
    table.free(handle);
    expect(() => table.free(handle)).toThrow("double free of block 21");
    expect(() => table.free(-1)).toThrow("double free of block -1");
    expect(() => table.free(24)).toThrow("double free of block 24");
  });

  it("the last row being full is said at once", () => {
    const table = newTable();
    table.admit(7);
    for (let index = 0; index < BLOCKS_PER_SLICE; index++) table.take(7, 1, index);
    expect(() => table.take(7, 1, 3)).toThrow("row 7 is full");
  });

  it("check() sees what was changed behind its back", () => {
    const broken = (harm: (table: SliceTable) => void): (() => void) => {
      const table = newTable();
      for (const at of [0, 1, 3]) table.admit(at);
      table.take(0, 1, 0);
      harm(table);
      return () => table.check();
    };
    expect(broken(() => {})).not.toThrow();
    expect(broken((table) => table.slotOwner.fill(-1))).toThrow("row 0 holds 0, kept 1");
    expect(broken((table) => (table.state[1] = RowState.Absent))).toThrow("source 0 free 2");
    expect(broken((table) => table.emptyRows[0]!++)).toThrow("source 0 empty 1");
    expect(broken((table) => table.heldRows[1]!--)).toThrow("source 1 held 1");
    expect(broken((table) => table.usedBlocks[0]!++)).toThrow("source 0 used 1");
    expect(broken((table) => (table.state[3] = RowState.Closing))).toThrow("source 1 free 0");
  });
});
