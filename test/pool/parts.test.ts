/** Each stateful part of the pool alone, against Maps and arrays; check() after every step. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AssertionFailure, engineId, sliceId, type SliceId } from "../../src/base/index.ts";
import { Chains } from "../../src/pool/chains.ts";
import { Leases } from "../../src/pool/leases.ts";
import { SliceLedger } from "../../src/pool/ledger.ts";
import { Mailboxes } from "../../src/pool/mailboxes.ts";
import { RecallBook, type FinishedRecall } from "../../src/pool/recall-book.ts";
import { NaiveRecalls } from "./naive-recalls.ts";

const long = { maxLength: 80, size: "max" } as const;
const steps = fc.array(fc.record({ kind: fc.nat(3), at: fc.nat(3), pick: fc.nat(50) }), long);

describe("Chains", () => {
  it("are lists", () => {
    fc.assert(
      fc.property(steps, (moves) => {
        const chains = new Chains(4, 10);
        const lists: number[][] = [[], [], [], []];
        for (const { kind, at, pick } of moves) {
          const index = pick % 10;
          const holder = lists.findIndex((list) => list.includes(index));
          if (holder >= 0) {
            chains.remove(holder, index);
            lists[holder] = lists[holder]!.filter((other) => other !== index);
          } else if (kind % 2 === 0) {
            chains.append(at, index);
            lists[at]!.push(index);
          } else {
            chains.prepend(at, index);
            lists[at]!.unshift(index);
          }
          chains.check();
          expect(lists.map((_, chain) => walk(chains, chain))).toEqual(lists);
        }
      }),
    );
  });

  function walk(chains: Chains, chain: number): number[] {
    const found: number[] = [];
    for (let at = chains.first(chain); at >= 0; at = chains.next(at)) found.push(at);
    return found;
  }
});

describe("Mailboxes", () => {
  it("keep the last word on a lender, in the place of the first unread", () => {
    const mailboxes = new Mailboxes(3);
    const reader = engineId(0);
    const say = (lender: number, isRunning: boolean): void =>
      mailboxes.post(reader, { type: "LenderActivity", lender: engineId(lender), isRunning });
    say(1, true);
    expect(mailboxes.poll(reader)).toMatchObject({ lender: 1, isRunning: true });
    for (let turn = 0; turn < 1000; turn++) {
      say(1, turn % 2 === 0);
      say(2, turn % 2 === 1);
      mailboxes.check();
    }
    expect(mailboxes.unread(reader)).toMatchObject([
      { lender: 1, isRunning: false },
      { lender: 2, isRunning: true },
    ]);
  });

  it("have a limit that a reader who does not read runs into", () => {
    const mailboxes = new Mailboxes(1);
    const post = (): void =>
      mailboxes.post(engineId(0), { type: "LeaseDenied", reason: "role", count: 1 });
    for (let count = 0; count < 2 ** 18; count++) post();
    expect(post).toThrow(/262145 events of engine 0 lie unread/);
  });

  it("are queues", () => {
    fc.assert(
      fc.property(steps, (moves) => {
        const mailboxes = new Mailboxes(4);
        const queues: number[][] = [[], [], [], []];
        for (const { kind, at, pick } of moves) {
          const engine = engineId(at);
          if (kind < 2) {
            mailboxes.post(engine, { type: "LeaseDenied", reason: "role", count: pick });
            queues[at]!.push(pick);
          } else if (kind === 2) {
            const event = mailboxes.poll(engine);
            const count = event?.type === "LeaseDenied" ? event.count : undefined;
            expect(count).toBe(queues[at]!.shift());
          } else if (pick < 5) {
            mailboxes.clear(engine);
            queues[at] = [];
          }
          mailboxes.check();
          expect(mailboxes.hasEvents(engine)).toBe(queues[at]!.length > 0);
          expect(mailboxes.unread(engine).length).toBe(queues[at]!.length);
        }
      }),
    );
  });
});

describe("SliceLedger", () => {
  it("moves slices through their life and nowhere else", () => {
    fc.assert(
      fc.property(steps, (moves) => {
        const ledger = new SliceLedger([4, 0, 3, 5]);
        const owners = [0, 0, 0, 0, 2, 2, 2, 3, 3, 3, 3, 3];
        const states = owners.map(() => "OWN");
        const epochs = owners.map(() => 0);
        for (const { kind, at, pick } of moves) {
          const slice = sliceId(pick % 12);
          const owner = engineId(at);
          const isIdle = owners.some((of, index) => of === at && states[index] === "IDLE");
          if (kind === 0) tryMove(states, slice, "OWN", "IDLE", () => ledger.offer(slice));
          if (kind === 1 && isIdle) move(states, ledger.withdraw(owner), "IDLE", "OWN");
          if (kind === 2 && isIdle) move(states, ledger.lend(owner), "IDLE", "LENT");
          if (kind === 3 && tryMove(states, slice, "LENT", "OWN", () => ledger.takeBack(slice))) {
            epochs[slice]!++;
          }
          ledger.check();
          expect(owners.map((_, index) => ledger.stateOf(sliceId(index)))).toEqual(states);
          expect(owners.map((_, index) => ledger.epochOf(sliceId(index)))).toEqual(epochs);
          expect(owners.map((_, index) => ledger.ownerOf(sliceId(index)))).toEqual(owners);
        }
      }),
    );
  });

  function move(states: string[], slice: SliceId, source: string, target: string): void {
    expect(states[slice]).toBe(source);
    states[slice] = target;
  }

  /** @returns whether it was allowed; when it was not, it must have been refused. */
  function tryMove(
    states: string[],
    slice: SliceId,
    source: string,
    target: string,
    act: () => void,
  ): boolean {
    if (states[slice] !== source) {
      expect(act).toThrow(AssertionFailure);
      return false;
    }
    act();
    states[slice] = target;
    return true;
  }
});

describe("Leases", () => {
  it("know who holds what, and ask for no slice twice", () => {
    fc.assert(
      fc.property(steps, (moves) => {
        const leases = new Leases(4, 12);
        const held = new Map<SliceId, { lender: number; borrower: number }>();
        for (const { kind, at, pick } of moves) {
          const slice = sliceId(pick % 12);
          const lender = engineId(Math.floor((pick % 12) / 3));
          const borrower = engineId((lender + 1 + (at % 3)) % 4);
          if (kind === 3) {
            const lent = [...held.values()].filter((of) => of.lender === lender).length;
            const fresh = Math.min(at + 1, lent - leases.recalledCounts[lender]!);
            const { freshCount, shares } = leases.recall(lender, at + 1, "refill");
            expect(freshCount).toBe(fresh);
            expect(shares.reduce((sum, share) => sum + share.count, 0)).toBe(fresh);
          } else if (held.has(slice)) {
            leases.giveBack(slice);
            held.delete(slice);
          } else {
            leases.open(lender, borrower, [slice]);
            held.set(slice, { lender, borrower });
          }
          leases.check();
          for (let index = 0; index < 12; index++) {
            const holder = held.get(sliceId(index))?.borrower ?? null;
            expect(leases.holderOf(sliceId(index))).toBe(holder);
          }
          const slices = [...held].filter(
            ([, of]) => of.lender === lender && of.borrower === borrower,
          );
          const expected = new Set(slices.map(([id]) => id));
          expect(new Set(leases.slicesOf(lender, borrower))).toEqual(expected);
          expect(leases.lentTo(lender, borrower)).toBe(expected.size);
        }
      }),
    );
  });
});

describe("RecallBook", () => {
  it("is served slice by slice, oldest demand first", () => {
    fc.assert(
      fc.property(steps, (moves) => {
        const finished: FinishedRecall[] = [];
        const book = new RecallBook(4, (recall) => finished.push(recall));
        const naive = new NaiveRecalls();
        moves.forEach(({ kind, at, pick }, nowNs) => {
          const lender = engineId(at);
          const count = 1 + (pick % 6);
          const recallKind = kind === 0 ? "refill" : "demand";
          if (kind < 2) {
            book.open(lender, recallKind, count, nowNs);
            naive.open(lender, recallKind, count, nowNs);
          } else if (kind === 2) {
            book.arrive(lender, count, nowNs);
            naive.arrive(lender, count, nowNs);
          } else {
            const taken = Math.min(count, naive.waitedFor(lender, "refill"));
            book.takeOver(lender, taken);
            naive.takeOver(lender, taken);
          }
          if (pick === 50) {
            book.drop(lender);
            naive.drop(lender);
          }
          book.check();
          expect(book.outstanding(lender)).toBe(naive.waitedFor(lender));
          expect(finished).toEqual(naive.finished);
        });
      }),
    );
  });
});
