/** One arena that borrows from another: fences, debts, what is known of a lender, and its loss. */

import { describe, expect, it } from "vitest";
import type { EngineId, SliceId } from "../../src/base/index.ts";
import { QUIET_NS, World, type Member } from "./arena-model.ts";

describe("one borrower, one lender", () => {
  /** Engine 0 holds three slices of engine 1. */
  function lent(): { world: World; borrower: Member; lender: Member } {
    const world = new World();
    const [borrower, lender, other] = world.members as [Member, Member, Member];
    world.pool.apply({ type: "WithdrawSlices", engine: 2 as EngineId, count: 4 }, 0);
    other.arena.poll(0);
    expect(borrower.arena.borrow(3, true, 0)).toBe(3);
    world.absorb(() => {});
    return { world, borrower, lender };
  }
  const LENDER = 1 as EngineId;

  it("a slice goes home when its last read has ended, not before", () => {
    const { world, borrower, lender } = lent();
    const [slice] = borrower.givable();
    borrower.arena.giveBack(slice!, 50, 10);
    expect(borrower.arena.nextDueNs()).toBe(50);
    borrower.arena.poll(49);
    expect(world.pool.lentSlices(LENDER)).toBe(3);
    borrower.arena.poll(50);
    expect(world.pool.lentSlices(LENDER)).toBe(2);
    lender.arena.poll(50);
    expect(lender.kv.slices.heldRows[0]).toBe(2);
  });

  it("a demand makes refills urgent, and nothing is owed twice", () => {
    const { borrower, lender } = lent();
    lender.arena.recall(2, "refill", 0);
    lender.arena.recall(3, "demand", 5);
    borrower.arena.poll(5);
    expect(borrower.arena.recalls.map(({ kind, remaining }) => [kind, remaining])).toEqual([
      ["demand", 3],
    ]);
    expect(borrower.arena.owedRows(LENDER, "any")).toBe(3);
    lender.arena.recall(3, "demand", 6);
    lender.arena.recall(3, "refill", 6);
    borrower.arena.poll(6);
    expect(borrower.arena.owedRows(LENDER, "any")).toBe(3);
  });

  it("what was given back before a recall was read is not owed again", () => {
    const { borrower, lender } = lent();
    lender.arena.recall(3, "refill", 0);
    for (const slice of borrower.givable().slice(0, 2)) borrower.arena.giveBack(slice, 0, 1);
    borrower.arena.poll(1);
    expect(borrower.arena.owedRows(LENDER, "any")).toBe(1);
    borrower.arena.giveBack(borrower.kv.slices.emptyRow(2) as SliceId, 0, 2);
    expect(borrower.arena.recalls).toEqual([]);
    borrower.arena.check();
  });

  it("a lender that was running before it lent is known to run", () => {
    const { world, borrower, lender } = lent();
    for (const slice of borrower.givable()) borrower.arena.giveBack(slice, 0, 0);
    world.pool.apply({ type: "SetActivity", engine: LENDER, isRunning: true }, 0);
    lender.arena.poll(0);
    lender.arena.keepHeadroom(0, false, QUIET_NS);
    expect(borrower.arena.borrow(1, true, QUIET_NS)).toBe(1);
    expect(borrower.arena.isLenderRunning[LENDER]).toBe(1);
    expect(borrower.arena.hasActivityChanged).toBe(true);
  });

  it("a lender that is gone takes fenced, filling and emptied slices with it", () => {
    const { world, borrower } = lent();
    const { arena, kv } = borrower;
    const [fenced, filling, emptied] = borrower.givable() as [SliceId, SliceId, SliceId];
    arena.giveBack(fenced, 50, 10);
    kv.extend(0, 8);
    kv.seal(0, 8);
    const coming = kv.beginMove(0, 0, 1, filling, "out");
    kv.completeMove(kv.beginMove(0, 1, 1, emptied, "out").id);
    world.pool.apply({ type: "RemoveEngine", engine: LENDER }, 60);
    arena.poll(60);
    expect([...arena.lostRows].sort()).toEqual([fenced, filling, emptied].sort());
    expect(kv.slices.emptyRow(2)).toBe(-1);
    arena.check();
    kv.truncate(0, 1);
    arena.dropLost();
    expect(kv.blocksAt(0, 0)).toBe(1);
    expect(kv.completeMove(coming.id)).toBe(false);
    expect(kv.slices.heldRows[2]).toBe(0);
    kv.check();
    arena.check();
  });

  it("only borrowed slices are given back", () => {
    const { borrower } = lent();
    expect(() => borrower.arena.closeRow(0)).toThrow("row 0 of source 0 is not borrowed");
  });
});
