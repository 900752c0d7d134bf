// Slices that are offered are cleared first where tenants demand it; one that is wanted back comes
// at once.

import { expect, it } from "vitest";
import { engineId } from "../../src/base/index.ts";
import { createKvLayout, KvCache, LOCAL_SOURCE } from "../../src/kvcache/index.ts";
import { OfferedSlices } from "../../src/kvcache/offered-slices.ts";
import { Pool } from "../../src/pool/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";

const SLICES = 6;
const OWNER = engineId(0);

/** Clears when it is told to, in order. */
class SlowClearing {
  readonly begun: number[] = [];
  readonly clear: number[] = [];

  begin(row: number): void {
    this.begun.push(row);
  }

  cancel(row: number): void {
    for (const list of [this.begun, this.clear]) {
      const index = list.indexOf(row);
      if (index >= 0) list.splice(index, 1);
    }
  }

  poll(): number {
    return this.clear.shift() ?? -1;
  }

  advance(count: number): void {
    this.clear.push(...this.begun.splice(0, count));
  }
}

function parts(clearing: SlowClearing | null) {
  const pool = new Pool({
    members: [
      { device: 0, sliceCount: SLICES, borrowLimitSlices: 0 },
      { device: 1, sliceCount: 0, borrowLimitSlices: Infinity },
    ],
    pathBytesPerSecond: Float64Array.of(0, 1e9, 1e9, 0),
    refillDeadlineNs: 0,
    accountWindowNs: 1e9,
  });
  const kv = new KvCache({
    layout: createKvLayout(1, 1, 1, 2),
    sourceOfRow: new Int16Array(SLICES),
    sourceCount: 4,
    readSet: new ReadSet(4, 4),
    bridgedBlocksMax: 0,
  });
  for (let row = 0; row < SLICES; row++) kv.slices.admit(row);
  return { pool, kv, offers: new OfferedSlices(OWNER, pool, kv, clearing) };
}

const inTable = (kv: KvCache): number => kv.slices.heldRows[LOCAL_SOURCE]!;

it("slices are offered at once where nobody else could read them", () => {
  const { pool, kv, offers } = parts(null);
  offers.offer(4, 0);
  expect([offers.count, offers.inPool, pool.idleSlices(OWNER), inTable(kv)]).toEqual([4, 4, 4, 2]);
});

it("slices are offered when they are clear, and count as away meanwhile", () => {
  const clearing = new SlowClearing();
  const { pool, kv, offers } = parts(clearing);
  offers.offer(4, 0);
  offers.poll(0);
  expect([offers.count, offers.inPool, pool.idleSlices(OWNER), inTable(kv)]).toEqual([4, 0, 0, 2]);
  clearing.advance(3);
  offers.poll(0);
  expect([offers.count, offers.inPool, pool.idleSlices(OWNER), inTable(kv)]).toEqual([4, 3, 3, 2]);
  pool.check();
  kv.check();
});

it("a slice that is wanted back comes from those that are not clear, and is never offered", () => {
  const clearing = new SlowClearing();
  const { pool, kv, offers } = parts(clearing);
  offers.offer(4, 0);
  clearing.advance(1);
  expect(offers.reclaim(3)).toBe(3);
  expect([offers.count, inTable(kv)]).toEqual([1, 5]);
  clearing.advance(10);
  offers.poll(0);
  expect([offers.count, offers.inPool, pool.idleSlices(OWNER)]).toEqual([1, 1, 1]);
  expect(offers.reclaim(3)).toBe(0);
  expect(kv.slices.state.filter((state) => state === 0)).toHaveLength(1);
});
