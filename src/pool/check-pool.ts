/**
 * The invariants that hold between the parts of the pool; each part's own are in its check().
 *
 * Called by Pool.check() after every event of a simulation. Reads everything, changes nothing, and
 * costs all slices.
 */

import { assert, sliceId, type EngineId } from "../base/index.ts";
import type { PoolEvent } from "./commands.ts";
import type { Leases } from "./leases.ts";
import type { SliceLedger, SliceState } from "./ledger.ts";
import type { Mailboxes } from "./mailboxes.ts";
import type { RecallBook } from "./recall-book.ts";

/** @throws AssertionFailure that names the broken invariant and its numbers. */
export function checkPool(
  members: readonly { readonly device: number; readonly sliceCount: number }[],
  ledger: SliceLedger,
  leases: Leases,
  book: RecallBook,
  mailboxes: Mailboxes,
): void {
  checkConservation(members, ledger);
  checkHolders(ledger, leases);
  members.forEach((_, index) => {
    const engine = index as EngineId;
    checkEngine(engine, members.length, ledger, leases, book);
    for (const event of mailboxes.unread(engine)) checkEvent(engine, event, ledger);
  });
}

/** OWN + IDLE + LENT + GONE are all slices of each device. */
function checkConservation(
  members: readonly { readonly device: number; readonly sliceCount: number }[],
  ledger: SliceLedger,
): void {
  const expected = new Map<number, number>();
  const counted = new Map<number, number>();
  members.forEach(({ device, sliceCount }, index) => {
    const engine = index as EngineId;
    expected.set(device, (expected.get(device) ?? 0) + sliceCount);
    const states: Record<SliceState, number> = { OWN: 0, IDLE: 0, LENT: 0, GONE: 0 };
    const first = ledger.firstSliceOf(engine);
    for (let slice = first; slice < ledger.endSliceOf(engine); slice++) {
      states[ledger.stateOf(sliceId(slice))]++;
    }
    const sum = states.OWN + states.IDLE + states.LENT + states.GONE;
    counted.set(device, (counted.get(device) ?? 0) + sum);
  });
  for (const [device, slices] of expected) {
    const found = counted.get(device);
    assert(
      found === slices,
      () => `pool: device ${device} has ${slices} slices, states hold ${found}`,
    );
  }
}

/** A slice is LENT exactly when one borrower, not its owner, holds it. */
function checkHolders(ledger: SliceLedger, leases: Leases): void {
  for (let index = 0; index < ledger.sliceCount; index++) {
    const slice = sliceId(index);
    const holder = leases.holderOf(slice);
    const state = ledger.stateOf(slice);
    const isSound = (state === "LENT") === (holder !== null) && holder !== ledger.ownerOf(slice);
    assert(isSound, () => `pool: slice ${slice} is ${state}, held by ${holder}`);
  }
}

function checkEngine(
  engine: EngineId,
  engineCount: number,
  ledger: SliceLedger,
  leases: Leases,
  book: RecallBook,
): void {
  const lent = leases.lentCounts[engine]!;
  const borrowed = leases.borrowedCounts[engine]!;
  const idle = ledger.idleCounts[engine]!;
  const inLedger = ledger.lentCounts[engine]!;
  assert(
    lent === inLedger,
    () => `pool: engine ${engine} lent ${lent} by leases, ${inLedger} by states`,
  );
  assert(
    borrowed === 0 || lent + idle === 0,
    `pool: engine ${engine} borrows ${borrowed}, lends ${lent} and offers ${idle}`,
  );
  const pairs = leasesByPair(engine, engineCount, leases);
  assert(pairs.lent === lent, () => `pool: engine ${engine} lent ${lent}, by pair ${pairs.lent}`);
  const byPair = pairs.borrowed;
  assert(byPair === borrowed, () => `pool: engine ${engine} holds ${borrowed}, by pair ${byPair}`);
  const [awaited, owed] = [book.outstanding(engine), leases.recalledCounts[engine]!];
  assert(
    awaited <= owed,
    () => `pool: engine ${engine} waits for ${awaited} slices, is owed ${owed}`,
  );
  assert(owed <= lent, () => `pool: engine ${engine} recalled ${owed} of ${lent} lent`);
}

function leasesByPair(
  engine: EngineId,
  engineCount: number,
  leases: Leases,
): { lent: number; borrowed: number } {
  const sums = { lent: 0, borrowed: 0 };
  for (let other = 0; other < engineCount; other++) {
    sums.lent += leases.lentTo(engine, other as EngineId);
    sums.borrowed += leases.lentTo(other as EngineId, engine);
  }
  return sums;
}

/** An unread event speaks of slices of the right owner, and of no epoch that is still to come. */
function checkEvent(reader: EngineId, event: PoolEvent, ledger: SliceLedger): void {
  const text = (): string => `pool: engine ${reader} was told ${JSON.stringify(event)}`;
  if ("lender" in event) assert(event.lender !== reader, text);
  if ("count" in event) assert(event.count > 0, text);
  if (!("slices" in event)) return;
  const owner = "lender" in event ? event.lender : reader;
  assert(event.slices.every((slice) => ledger.ownerOf(slice) === owner), text);
  assert(new Set(event.slices).size === event.slices.length, text);
  if (event.type !== "LeaseGranted") return;
  const isPast = event.slices.every((slice, i) => event.epochs[i]! <= ledger.epochOf(slice));
  assert(event.epochs.length === event.slices.length && isPast, text);
}
