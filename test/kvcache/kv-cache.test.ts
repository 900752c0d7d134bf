/** The KV cache against a naive model: random commands, all tables, counts and reads compared. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { RowState, type KvCache } from "../../src/kvcache/index.ts";
import {
  BLOCK_TOKENS,
  KvModel,
  LOCAL_ROWS,
  newCache,
  rowOf,
  SEQUENCES,
  SOURCE_OF_ROW,
} from "./kv-cache-model.ts";

/** Of lenders 1 and 2. */
const [LENT_ROW, OTHER_ROW] = [3, 5];

const seen = new Map<string, number>();
const note = (what: string): void => {
  seen.set(what, (seen.get(what) ?? 0) + 1);
};

type Act = (model: KvModel, kv: KvCache) => void;

/** One random command; what does not apply to the present state does nothing. */
class Step implements fc.Command<KvModel, KvCache> {
  readonly name: string;
  readonly act: Act;
  constructor(name: string, act: Act) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(model: KvModel, kv: KvCache): void {
    this.act(model, kv);
    model.compare(kv);
  }
  toString(): string {
    return this.name;
  }
}

const sequence = fc.constantFrom(...SEQUENCES);
const pick = fc.nat(1000);

function chosen<Item>(items: readonly Item[], at: number): Item | null {
  return items.length === 0 ? null : items[at % items.length]!;
}

const extend = fc.tuple(sequence, fc.integer({ min: 1, max: 30 })).map(([id, tokens]) =>
  new Step(`extend ${id} to ${tokens} tokens`, (model, kv) => {
    const { blocks } = model.sequence(id);
    const missing = Math.max(0, Math.ceil(tokens / BLOCK_TOKENS) - blocks.length);
    const free = model.free(LOCAL_ROWS);
    const isGranted = missing <= free.length;
    expect(Math.max(0, kv.missingBlocks(id, tokens))).toBe(missing);
    expect(kv.extend(id, tokens)).toBe(isGranted);
    note(isGranted ? "extended" : "missed");
    if (!isGranted) return;
    for (let index = 0; index < missing; index++) {
      const handle = kv.handleOf(id, blocks.length);
      expect(free).toContain(handle);
      blocks.push(handle);
      model.allocated++;
    }
  }),
);

const seal = fc.tuple(sequence, fc.boolean(), pick).map(([id, isAll, at]) =>
  new Step(`seal ${id} ${isAll ? "all" : at}`, (model, kv) => {
    const of = model.sequence(id);
    const least = of.sealed * BLOCK_TOKENS;
    const open = of.blocks.length * BLOCK_TOKENS - least;
    const tokens = least + (isAll ? open : at % (open + 1));
    of.sealed = Math.floor(tokens / BLOCK_TOKENS);
    kv.seal(id, tokens);
  }),
);

function cut(model: KvModel, id: number, blocks: number): void {
  for (const started of model.moves.values()) {
    const end = started.firstBlock + started.targets.length;
    if (started.sequence !== id || started.isOrphaned || end <= blocks) continue;
    started.isOrphaned = true;
    note("orphaned by release");
  }
  const of = model.sequence(id);
  of.blocks = of.blocks.slice(0, blocks);
  of.sealed = Math.min(of.sealed, blocks);
}

const truncate = fc.tuple(sequence, pick).map(([id, at]) =>
  new Step(`truncate ${id} ${at}`, (model, kv) => {
    const blocks = at % (model.sequence(id).blocks.length + 2);
    kv.truncate(id, blocks);
    cut(model, id, blocks);
  }),
);

const release = sequence.map((id) =>
  new Step(`release ${id}`, (model, kv) => {
    kv.release(id);
    cut(model, id, 0);
    model.sequence(id).isActive = false;
  }),
);

// Mostly active, and mostly towards row 3, so that rows fill and get holes.
const mostly = fc.constantFrom(true, true, true, false);
const setActive = fc.tuple(sequence, mostly).map(([id, isActive]) =>
  new Step(`active ${id} ${isActive}`, (model, kv) => {
    kv.setActive(id, isActive);
    model.sequence(id).isActive = isActive;
  }),
);

const move = fc.record({
  id: sequence,
  source: fc.constantFrom(0, 0, 1, 2, 3),
  from: fc.constantFrom(0, 0, 0, 1, 2),
  max: fc.integer({ min: 1, max: 4 }),
  pick: fc.oneof(pick, fc.constant(0)),
})
  .map(({ id, source, from, max, pick: at }) =>
    new Step(`move ${id} at ${source} from ${from}, at most ${max}, ${at}`, (model, kv) => {
      const run = model.findMovable(id, source, from, max);
      const [first, count] = kv.findMovable(id, source, from, max);
      expect(count).toBe(run.length);
      if (count === 0) return;
      expect(first).toBe(run[0]);
      const rows = SOURCE_OF_ROW.map((_, row) => row).filter(
        (row) => SOURCE_OF_ROW[row] !== source && model.free([row]).length > 0,
      );
      const targetRow = chosen(rows, at);
      if (targetRow === null) return;
      const free = model.free([targetRow]);
      const taken = run.slice(0, free.length);
      const started = kv.beginMove(id, first, taken.length, targetRow, "out");
      const targets = [...started.targetHandles];
      expect(new Set(targets).size).toBe(taken.length);
      expect(targets.every((handle) => free.includes(handle))).toBe(true);
      expect(started).toMatchObject({ sourceSource: source, bytes: taken.length * 96 });
      const handles = taken.map((block) => model.sequence(id).blocks[block]!);
      const runs = handles.filter((handle, index) => handle - 1 !== handles[index - 1]).length;
      expect(started.copies).toBe(runs * kv.layout.layers);
      model.moves.set(started.id, {
        sequence: id,
        firstBlock: first,
        targetRow,
        targets,
        isOrphaned: false,
        isTargetLost: false,
      });
      note("begun");
    }),
  );

const abandon = pick.map((at) =>
  new Step(`abandon ${at}`, (model, kv) => {
    const id = chosen([...model.moves.keys()], at);
    if (id === null) return;
    kv.abandonMove(id);
    model.moves.get(id)!.isOrphaned = true;
    note("abandoned");
  }),
);

const complete = pick.map((at) =>
  new Step(`complete ${at}`, (model, kv) => {
    const id = chosen([...model.moves.keys()], at);
    if (id === null) return;
    const { sequence: of, firstBlock, targets, isOrphaned } = model.moves.get(id)!;
    expect(kv.completeMove(id)).toBe(!isOrphaned);
    model.moves.delete(id);
    note(isOrphaned ? "completed orphan" : "completed");
    if (isOrphaned) return;
    targets.forEach((handle, offset) => {
      model.sequence(of).blocks[firstBlock + offset] = handle;
    });
  }),
);

const changeRow = fc.tuple(fc.nat(SOURCE_OF_ROW.length - 1), fc.nat(5)).map(([row, odds]) =>
  new Step(`row ${row} ${odds}`, (model, kv) => {
    const state = model.rowStates[row];
    // Most rows are to be usable most of the time.
    if (state === RowState.Usable && odds > 0) return;
    if (state === RowState.Absent) kv.slices.admit(row);
    else if (state === RowState.Usable) kv.slices.close(row);
    else if (model.isRowEmpty(row)) kv.slices.drop(row);
    else kv.slices.reopen(row);
    if (state === RowState.Usable) model.rowStates[row] = RowState.Closing;
    else if (state === RowState.Closing && model.isRowEmpty(row)) {
      model.rowStates[row] = RowState.Absent;
    } else model.rowStates[row] = RowState.Usable;
  }),
);

/** The lender of a row is gone: whoever has blocks there is released first. */
const lose = fc.constantFrom(LENT_ROW, OTHER_ROW).map((row) =>
  new Step(`lose row ${row}`, (model, kv) => {
    if (model.rowStates[row] === RowState.Absent) return;
    for (const [id, { blocks }] of model.sequences) {
      if (!blocks.some((handle) => rowOf(handle) === row)) continue;
      kv.release(id);
      cut(model, id, 0);
      model.sequence(id).isActive = false;
    }
    kv.loseRow(row);
    model.rowStates[row] = RowState.Absent;
    for (const lost of model.moves.values()) {
      if (lost.targetRow !== row || lost.isTargetLost) continue;
      note("target lost");
      lost.isOrphaned = true;
      lost.isTargetLost = true;
    }
  }),
);

const sync = fc.constant(
  new Step("sync", (model, kv) => {
    kv.syncReadSet();
    model.compareReads(kv);
    const { runs, rows } = model.reads();
    if (rows.length > 0) note("read");
    if (runs.some((count, source) => count > rows.filter(
      (row) => SOURCE_OF_ROW[row] === source).length)) note("read in two runs");
  }),
);

it("does what a naive cache does, whatever the commands", () => {
  const rare = fc.oneof(release, truncate, abandon, changeRow, changeRow, lose);
  const commands = fc.commands(
    [extend, seal, move, move, move, complete, complete, sync, setActive, rare],
    { maxCommands: 200, size: "max" },
  );
  fc.assert(
    fc.property(commands, (steps) => {
      fc.modelRun(() => ({ model: new KvModel(), real: newCache() }), steps);
    }),
    { numRuns: 150, seed: 9 },
  );
  expect([...seen.keys()].sort()).toEqual([
    "abandoned", "begun", "completed", "completed orphan", "extended", "missed",
    "orphaned by release", "read", "read in two runs", "target lost",
  ]);
});
