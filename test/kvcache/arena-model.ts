/**
 * A naive arena: slices in Sets, every owed and every awaited slice an entry of its own.
 *
 * Oracle of arena.test.ts. It reads the events that the real arenas read, and says what each arena
 * must hold, owe and await. Which of equal slices moves is left open and taken from the table.
 */

import { strict as assert } from "node:assert";
import type { EngineId, SliceId } from "../../src/base/index.ts";
import { Pool, type PoolCommand, type PoolEvent } from "../../src/pool/index.ts";
import { Arena, createKvLayout, KvCache, RowState } from "../../src/kvcache/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";

export const OWN_SLICES = [6, 6, 4];
export const ENGINES = [0, 1, 2] as EngineId[];
export const SLICE_COUNT = 16;
export const QUIET_NS = 40;
const REFILL_DEADLINE_NS = 30;
const BLOCK_TOKENS = 4;
const BLOCKS_PER_SLICE = 2;

type Kind = "demand" | "refill";

/** One slice that an engine has to give back. */
interface Owed {
  readonly lender: EngineId;
  readonly kind: Kind;
  readonly deadlineNs: number;
  /** Which recall it came with. */
  readonly recall: number;
}

type Logged =
  | { readonly command: PoolCommand }
  | { readonly reader: EngineId; readonly event: PoolEvent };

/** The real pool, and everything that went through it, in order. */
export class TappedPool extends Pool {
  readonly log: Logged[] = [];

  override poll(engine: EngineId): PoolEvent | null {
    const event = super.poll(engine);
    if (event !== null) this.log.push({ reader: engine, event });
    return event;
  }

  override apply(command: PoolCommand, nowNs: number): void {
    this.log.push({ command });
    super.apply(command, nowNs);
  }
}

export class Member {
  readonly kv: KvCache;
  readonly arena: Arena;
  /** Slices in the table. */
  readonly own = new Set<SliceId>();
  readonly borrowed = new Map<SliceId, EngineId>();
  readonly closing = new Set<SliceId>();
  readonly lost = new Set<SliceId>();
  readonly fences = new Map<SliceId, number>();
  owed: Owed[] = [];
  awaited: Kind[] = [];
  isGone = false;
  recalls = 0;

  constructor(engine: EngineId, pool: Pool) {
    const bytes = 8;
    const source = (row: number): number => {
      if (row >= SLICE_COUNT) return ENGINES.length + 1;
      const owner = pool.ownerOf(row as SliceId);
      return owner === engine ? 0 : owner + 1;
    };
    const sourceCount = ENGINES.length + 2;
    this.kv = new KvCache({
      layout: createKvLayout(bytes, 1, BLOCK_TOKENS, bytes * BLOCK_TOKENS * BLOCKS_PER_SLICE),
      sourceOfRow: Int16Array.from({ length: SLICE_COUNT + 1 }, (_, row) => source(row)),
      sourceCount,
      readSet: new ReadSet(sourceCount, 4),
      bridgedBlocksMax: 0,
    });
    const options = { engine, engineCount: ENGINES.length, isElastic: true, quietNs: QUIET_NS };
    this.arena = new Arena({ ...options, ownSlices: OWN_SLICES[engine]! }, pool, this.kv);
    for (let index = 0; index < OWN_SLICES[engine]!; index++) {
      this.own.add((pool.firstSliceOf(engine) + index) as SliceId);
    }
  }

  heldOf(lender: EngineId): number {
    return [...this.borrowed.values()].filter((of) => of === lender).length;
  }

  /** Borrowed slices without blocks that are neither lost nor on their way. */
  givable(): SliceId[] {
    const { used } = this.kv.slices;
    return [...this.borrowed.keys()].filter(
      (slice) => used[slice] === 0 && !this.lost.has(slice) && !this.fences.has(slice),
    );
  }

  noteRecall(lender: EngineId, kind: Kind, count: number, deadlineNs: number): void {
    const recall = this.recalls++;
    for (let left = count; left > 0; left--) this.owed.push({ lender, kind, deadlineNs, recall });
    this.fit(lender);
  }

  /** Nobody owes more than it holds: the least urgent go, newest first. */
  fit(lender: EngineId): void {
    while (this.#owedTo(lender).length > this.heldOf(lender)) {
      const least = this.#owedTo(lender).at(-1)!;
      this.owed.splice(this.owed.lastIndexOf(least), 1);
    }
  }

  /** A slice has gone back: the most urgent debt is met. */
  settle(lender: EngineId): void {
    const most = this.#owedTo(lender)[0];
    if (most !== undefined) this.owed.splice(this.owed.indexOf(most), 1);
    this.fit(lender);
  }

  /** Most urgent first. */
  #owedTo(lender: EngineId): Owed[] {
    const of = this.owed.filter((owed) => owed.lender === lender);
    const demands = of.filter(({ kind }) => kind === "demand");
    return [...demands, ...of.filter(({ kind }) => kind === "refill")];
  }

  /** What must be asked of the pool so that `rows` slices come by recalls of this kind. */
  ask(rows: number, kind: Kind, lent: number): number {
    const coming = kind === "refill" ? this.awaited : this.awaited.filter((of) => of === "demand");
    const count = Math.min(rows, lent) - coming.length;
    for (let left = count; left > 0; left--) {
      const isFresh = this.awaited.length < lent;
      if (!isFresh) this.awaited.splice(this.awaited.indexOf("refill"), 1);
      this.awaited.push(kind);
    }
    return Math.max(0, count);
  }

  arrive(count: number, lent: number): void {
    for (let left = count; left > 0; left--) {
      const demand = this.awaited.indexOf("demand");
      this.awaited.splice(Math.max(0, demand), 1);
    }
    if (lent === 0) this.awaited = [];
  }

  compare(engine: EngineId, pool: Pool, nowNs: number): void {
    const { arena, kv } = this;
    kv.check();
    arena.check();
    const held = [...this.own, ...this.borrowed.keys()].sort((a, b) => a - b);
    const isHeld = (row: number): boolean => kv.slices.state[row] !== RowState.Absent;
    const rows = Array.from({ length: SLICE_COUNT }, (_, row) => row);
    assert.deepEqual(rows.filter(isHeld), held);
    const closing = rows.filter((row) => kv.slices.state[row] === RowState.Closing);
    assert.deepEqual(closing, [...this.closing].sort((a, b) => a - b));
    assert.equal(arena.offeredSlices, OWN_SLICES[engine]! - this.own.size);
    assert.equal(arena.isAwaitingReturn, this.awaited.length > 0);
    assert.equal(arena.hasFences, this.fences.size > 0);
    assert.deepEqual([...arena.lostRows].sort(), [...this.lost].sort());
    assert.deepEqual(
      arena.recalls.map(({ lender, kind, remaining }) => `${lender} ${kind} ${remaining}`).sort(),
      this.#groups().sort(),
    );
    const kinds = arena.recalls.map(({ kind }) => kind);
    assert.deepEqual(kinds, [...kinds].sort());
    for (const lender of ENGINES) this.#compareLender(lender, pool, pool.hasEvents(engine));
    const due = [...this.fences.values(), ...this.owed.map(({ deadlineNs }) => deadlineNs)];
    // An arena's clock is that of its last poll.
    if (pool.hasEvents(engine) || this.#polledNs !== nowNs) return;
    const overdue = this.owed.filter(({ deadlineNs }) => deadlineNs <= nowNs);
    const open = due.filter((at) => at > nowNs || overdue.every((owed) => owed.deadlineNs !== at));
    assert.equal(arena.nextDueNs(), Math.min(Infinity, ...open));
  }

  #polledNs = 0;

  polled(nowNs: number): void {
    this.#polledNs = nowNs;
  }

  #compareLender(lender: EngineId, pool: Pool, isUnread: boolean): void {
    const closing = [...this.closing].filter((slice) => this.borrowed.get(slice) === lender).length;
    assert.equal(this.arena.closingRows(lender), closing);
    const owed = this.#owedTo(lender);
    const refills = owed.filter(({ kind }) => kind === "refill");
    assert.equal(this.arena.owedRows(lender, "any"), Math.max(0, owed.length - closing));
    assert.equal(this.arena.owedRows(lender, "refill"), Math.max(0, refills.length - closing));
    // A lender that is gone runs no more, and nobody is told.
    if (isUnread || this.heldOf(lender) === 0 || this.lost.size > 0) return;
    assert.equal(this.arena.isLenderRunning[lender] === 1, pool.isRunning(lender));
  }

  /** One text a recall with what is left of it. */
  #groups(): string[] {
    const groups = new Map<number, Owed[]>();
    for (const owed of this.owed) {
      groups.set(owed.recall, [...(groups.get(owed.recall) ?? []), owed]);
    }
    return [...groups.values()].map((of) => `${of[0]!.lender} ${of[0]!.kind} ${of.length}`);
  }
}

export class World {
  nowNs = 0;
  readonly pool: TappedPool;
  readonly members: Member[];

  constructor() {
    this.pool = new TappedPool({
      members: OWN_SLICES.map((sliceCount, device) => ({
        device,
        sliceCount,
        borrowLimitSlices: device === 1 ? 5 : Infinity,
      })),
      pathBytesPerSecond: new Float64Array(ENGINES.length ** 2).fill(1e9),
      refillDeadlineNs: REFILL_DEADLINE_NS,
      accountWindowNs: 1e9,
    });
    this.members = ENGINES.map((engine) => new Member(engine, this.pool));
    // Two of three lend from the start, so that most requests are granted something.
    for (const { arena } of this.members.slice(1)) arena.keepHeadroom(1, false, 0);
    this.absorb(() => {});
  }

  /** Brings the model up to what the arenas have read and asked since the last call. */
  absorb(note: (what: string) => void): void {
    for (const entry of this.pool.log.splice(0)) {
      if ("command" in entry) this.#obey(entry.command, note);
      else this.#follow(entry.reader, entry.event, note);
    }
  }

  #obey(command: PoolCommand, note: (what: string) => void): void {
    const member = this.members[command.engine]!;
    note(command.type);
    if (command.type === "OfferSlices") command.slices.forEach((slice) => member.own.delete(slice));
    if (command.type !== "ReturnSlices") return;
    for (const slice of command.slices) {
      const lender = member.borrowed.get(slice);
      assert(lender !== undefined && !member.lost.has(slice), `${slice} is not there to return`);
      const readNs = member.fences.get(slice) ?? 0;
      assert(readNs <= this.nowNs, `${slice} goes home at ${this.nowNs}, read till ${readNs}`);
      member.borrowed.delete(slice);
      member.fences.delete(slice);
      member.closing.delete(slice);
      member.settle(lender);
    }
  }

  #follow(engine: EngineId, event: PoolEvent, note: (what: string) => void): void {
    const member = this.members[engine]!;
    note(event.type);
    switch (event.type) {
      case "SlicesWithdrawn":
        for (const slice of event.slices) member.own.add(slice);
        break;
      case "SlicesReturned":
        for (const slice of event.slices) member.own.add(slice);
        member.arrive(event.slices.length, this.pool.lentSlices(engine));
        break;
      case "LeaseGranted":
        for (const slice of event.slices) member.borrowed.set(slice, event.lender);
        break;
      case "RecallRequested":
        note(`${event.kind} recall`);
        member.noteRecall(event.lender, event.kind, event.count, event.deadlineNs);
        break;
      case "LeaseLost":
        for (const slice of event.slices) {
          if (member.fences.delete(slice)) note("fenced row lost");
          member.lost.add(slice);
          member.closing.add(slice);
        }
        break;
      case "LeaseDenied":
      case "LenderActivity":
        break;
    }
  }

  compare(): void {
    this.pool.check();
    const users = new Map<number, EngineId>();
    for (const engine of ENGINES) {
      const member = this.members[engine]!;
      if (member.isGone) continue;
      member.compare(engine, this.pool, this.nowNs);
      for (const slice of [...member.own, ...member.borrowed.keys()]) {
        assert(!users.has(slice), `slice ${slice} is used by ${users.get(slice)} and ${engine}`);
        users.set(slice, engine);
      }
    }
  }
}
