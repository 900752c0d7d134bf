/** Three arenas over a real pool against a naive model: offers, loans, recalls, fences, losses. */

import fc from "fast-check";
import { expect, it } from "vitest";
import type { EngineId } from "../../src/base/index.ts";
import { ENGINES, OWN_SLICES, QUIET_NS, World, type Member } from "./arena-model.ts";

const seen = new Map<string, number>();
const note = (what: string): void => {
  seen.set(what, (seen.get(what) ?? 0) + 1);
};

type Act = (member: Member, world: World) => void;

/** One act of one engine, which reads its mailbox first, as an engine's tick does. */
class Step implements fc.Command<World, null> {
  readonly name: string;
  readonly engine: EngineId;
  readonly elapsedNs: number;
  readonly act: Act;
  constructor(name: string, engine: EngineId, elapsedNs: number, act: Act) {
    this.name = name;
    this.engine = engine;
    this.elapsedNs = elapsedNs;
    this.act = act;
  }
  check(world: Readonly<World>): boolean {
    return !world.members[this.engine]!.isGone;
  }
  run(world: World): void {
    world.nowNs += this.elapsedNs;
    const member = world.members[this.engine]!;
    poll(member, world);
    world.compare();
    this.act(member, world);
    world.absorb(note);
    world.compare();
  }
  toString(): string {
    return `${this.engine} ${this.name} after ${this.elapsedNs}`;
  }
}

function poll(member: Member, world: World): void {
  member.arena.poll(world.nowNs);
  member.polled(world.nowNs);
  world.absorb(note);
}

const engine = fc.constantFrom(...ENGINES);
const pick = fc.nat(100);
const elapsedNs = fc.constantFrom(0, 1, 7, QUIET_NS, QUIET_NS);
const base = { engine, elapsedNs };
const rows = fc.integer({ min: 1, max: 6 });

const keepHeadroom = fc.record({ ...base, keep: fc.nat(3), isShort: fc.boolean() })
  .map(({ engine: who, elapsedNs: after, keep, isShort }) =>
    new Step(`keep ${keep} ${isShort}`, who, after, (member, world) => {
      const { arena, kv } = member;
      const [empty, offered] = [kv.slices.emptyRows[0]!, arena.offeredSlices];
      const isQuiet = world.nowNs < arena.quietUntilNs;
      const [idle, lent] = [world.pool.idleSlices(who), arena.lentSlices];
      arena.keepHeadroom(keep, isShort, world.nowNs);
      const missing = Math.max(0, keep - empty);
      const surplus = empty - keep;
      const isBarred = isShort || isQuiet || arena.borrowedSlices > 0;
      if (missing > 0) {
        const back = Math.min(missing, idle);
        expect(arena.offeredSlices).toBe(offered - back);
        if (offered > 0 && missing > back) member.ask(missing - back, "refill", lent);
      } else if (surplus < 3 || isBarred) expect(arena.offeredSlices).toBe(offered);
      else expect(arena.offeredSlices).toBe(offered + surplus);
    }),
  );

const withdraw = fc.record({ ...base, blocks: fc.nat(12) })
  .map(({ engine: who, elapsedNs: after, blocks }) =>
    new Step(`withdraw for ${blocks}`, who, after, ({ arena, kv }, world) => {
      const [free, idle] = [kv.slices.freeBlocks[0]!, world.pool.idleSlices(who)];
      const wanted = Math.max(0, Math.ceil((blocks - free) / kv.layout.blocksPerSlice));
      const offered = arena.offeredSlices;
      expect(arena.withdrawFor(blocks, world.nowNs)).toBe(wanted <= idle);
      expect(arena.offeredSlices).toBe(offered - Math.min(idle, wanted));
    }),
  );

const kinds = fc.constantFrom("refill" as const, "demand" as const);
const recall = fc.record({ ...base, rows, kind: kinds })
  .map(({ engine: who, elapsedNs: after, rows: count, kind }) =>
    new Step(`recall ${count} ${kind}`, who, after, (member, world) => {
      const { lentSlices } = member.arena;
      const isComing = member.arena.recall(count, kind, world.nowNs);
      const asked = member.ask(count, kind, lentSlices);
      const command = { type: "RecallSlices", engine: who, count: asked, kind };
      expect(world.pool.log).toEqual(asked > 0 ? [{ command }] : []);
      expect(isComing).toBe(lentSlices > 0 && member.awaited.length > 0);
    }),
  );

const endLending = fc.record(base).map(({ engine: who, elapsedNs: after }) =>
  new Step("end lending", who, after, (member, world) => {
    const { lentSlices } = member.arena;
    member.arena.endLending(world.nowNs);
    member.ask(lentSlices, "refill", lentSlices);
    expect(world.pool.idleSlices(who)).toBe(0);
    expect(member.awaited.length).toBe(lentSlices);
  }),
);

const borrow = fc.record({ ...base, rows, allowRunning: fc.boolean() })
  .map(({ engine: who, elapsedNs: after, rows: count, allowRunning }) =>
    new Step(`borrow ${count}`, who, after, ({ arena, borrowed }, world) => {
      const before = arena.borrowedSlices;
      const denied = Object.values(arena.refusals).reduce((sum, value) => sum + value, 0);
      const came = arena.borrow(count, allowRunning, world.nowNs);
      world.absorb(note);
      expect(arena.borrowedSlices).toBe(before + came);
      expect(borrowed.size).toBeGreaterThanOrEqual(came);
      const deniedNow = Object.values(arena.refusals).reduce((sum, value) => sum + value, 0);
      expect(deniedNow - denied).toBe(came < count ? 1 : 0);
    }),
  );

/** Sequence 0 takes local blocks, sealed; sequence 1 + slice lies in that borrowed slice. */
const grow = fc.record({ ...base, tokens: fc.integer({ min: 1, max: 24 }) })
  .map(({ engine: who, elapsedNs: after, tokens }) =>
    new Step(`grow to ${tokens}`, who, after, ({ kv }) => {
      if (kv.extend(0, tokens)) kv.seal(0, tokens);
    }),
  );

const shrink = fc.record(base).map(({ engine: who, elapsedNs: after }) =>
  new Step("shrink", who, after, ({ kv }) => kv.release(0)),
);

const moveOut = fc.record({ ...base, pick, isEnded: fc.boolean() })
  .map(({ engine: who, elapsedNs: after, pick: at, isEnded }) =>
    new Step(`move out ${at} ${isEnded}`, who, after, (member) => {
      const { kv, closing } = member;
      const open = member.givable().filter((slice) => !closing.has(slice));
      const [slice] = open.slice(at % Math.max(1, open.length));
      if (slice === undefined || kv.blockCount(1 + slice) > 0 || !kv.extend(1 + slice, 4)) return;
      kv.seal(1 + slice, 4);
      const started = kv.beginMove(1 + slice, 0, 1, slice, "out");
      if (isEnded) kv.completeMove(started.id);
    }),
  );

const endMoves = fc.record(base).map(({ engine: who, elapsedNs: after }) =>
  new Step("end moves", who, after, ({ kv }) => {
    for (const id of [...kv.moves.keys()]) kv.completeMove(id);
  }),
);

const giveBack = fc.record({ ...base, pick, readNs: fc.constantFrom(0, 0, 5, 60) })
  .map(({ engine: who, elapsedNs: after, pick: at, readNs }) =>
    new Step(`give back ${at}, read for ${readNs}`, who, after, (member, world) => {
      const slices = member.givable();
      const slice = slices[at % Math.max(1, slices.length)];
      if (slice === undefined) return;
      const notBeforeNs = world.nowNs + readNs;
      member.arena.giveBack(slice, notBeforeNs, world.nowNs);
      member.closing.add(slice);
      if (readNs > 0) member.fences.set(slice, notBeforeNs);
    }),
  );

const close = fc.record({ ...base, pick }).map(({ engine: who, elapsedNs: after, pick: at }) =>
  new Step(`close ${at}`, who, after, (member) => {
    const slices = [...member.borrowed.keys()];
    const slice = slices[at % Math.max(1, slices.length)];
    if (slice === undefined) return;
    member.arena.closeRow(slice);
    member.closing.add(slice);
    expect(member.arena.isClosing(slice)).toBe(true);
  }),
);

const setActivity = fc.record({ ...base, isRunning: fc.boolean() })
  .map(({ engine: who, elapsedNs: after, isRunning }) =>
    new Step(`runs ${isRunning}`, who, after, (_, world) => {
      world.pool.apply({ type: "SetActivity", engine: who, isRunning }, world.nowNs);
    }),
  );

const remove = fc.record({ ...base, odds: fc.nat(4) })
  .map(({ engine: who, elapsedNs: after, odds }) =>
    new Step(`remove ${odds}`, who, after, (member, world) => {
      if (odds > 0) return;
      world.pool.apply({ type: "RemoveEngine", engine: who }, world.nowNs);
      member.isGone = true;
    }),
  );

/** What an engine does about lost rows: sequences there are released, then the rows dropped. */
function recover(member: Member): void {
  const { kv, lost, arena } = member;
  for (const slice of lost) if (kv.blocksAt(1 + slice, 0) === 0) kv.release(1 + slice);
  arena.dropLost();
  const lenders = new Set([...lost].map((slice) => member.borrowed.get(slice)!));
  for (const slice of lost) {
    member.borrowed.delete(slice);
    member.closing.delete(slice);
  }
  lost.clear();
  for (const lender of lenders) member.fit(lender);
  if (lenders.size > 0) note("recovered");
}

const recoverLost = fc.record(base).map(({ engine: who, elapsedNs: after }) =>
  new Step("recover", who, after, recover),
);

/** Everybody gives everything back: nothing may be left over. */
function drain(world: World): void {
  const alive = ENGINES.filter((who) => !world.members[who]!.isGone);
  world.nowNs += 1000;
  for (const who of alive) {
    const member = world.members[who]!;
    poll(member, world);
    recover(member);
    const { kv, arena } = member;
    for (let sequence = 0; sequence <= 16; sequence++) kv.release(sequence);
    for (const id of [...kv.moves.keys()]) kv.completeMove(id);
    for (const slice of member.givable()) arena.giveBack(slice, 0, world.nowNs);
    world.absorb(note);
    world.compare();
  }
  for (const who of alive) {
    const member = world.members[who]!;
    poll(member, world);
    member.arena.endLending(world.nowNs);
    world.absorb(note);
    world.compare();
    const { arena, kv } = member;
    expect(kv.slices.emptyRows[0]).toBe(OWN_SLICES[who]);
    expect([arena.offeredSlices, arena.lentSlices, arena.borrowedSlices]).toEqual([0, 0, 0]);
    expect([arena.isAwaitingReturn, arena.hasFences, arena.recalls.length]).toEqual(
      [false, false, 0],
    );
    expect(arena.nextDueNs()).toBe(Infinity);
  }
}

it("does what a naive arena does, whatever the commands, and nothing is left over", () => {
  const commands = fc.commands(
    [
      fc.oneof(keepHeadroom, keepHeadroom, keepHeadroom, keepHeadroom, keepHeadroom, withdraw),
      fc.oneof(recall, recall, recall, recall, endLending),
      borrow,
      fc.oneof(giveBack, giveBack, close),
      fc.oneof(grow, shrink, moveOut, moveOut, moveOut, endMoves),
      fc.oneof(setActivity, setActivity, setActivity, remove, recoverLost, recoverLost),
    ],
    { maxCommands: 200, size: "max" },
  );
  fc.assert(
    fc.property(commands, (steps) => {
      const world = new World();
      fc.modelRun(() => ({ model: world, real: null }), steps);
      drain(world);
    }),
    { numRuns: 60, seed: 31 },
  );
  expect([...seen.keys()].sort()).toEqual([
    "LeaseDenied", "LeaseGranted", "LeaseLost", "LenderActivity", "OfferSlices", "RecallRequested",
    "RecallSlices", "RemoveEngine", "RequestSlices", "ReturnSlices", "SetActivity",
    "SlicesReturned", "SlicesWithdrawn", "WithdrawSlices", "demand recall", "fenced row lost",
    "recovered", "refill recall",
  ]);
});
