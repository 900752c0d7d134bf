/**
 * What the pool's commands cost in process: `npx tsx bench/pool.bench.ts`.
 *
 * Eight engines of 600 slices on a switch; engine 0 borrows, the others have offered all they have.
 * The borrow and the return are measured with their events read, as an engine does.
 */

import { engineId, sliceId, type EngineId, type SliceId } from "../src/base/index.ts";
import { Pool, type PoolEvent } from "../src/pool/index.ts";
import { measure, writeMeasured } from "./micro.ts";

const ENGINES = 8;
const SLICES = 600;
const BORROWER = engineId(0);

const pool = new Pool({
  members: Array.from({ length: ENGINES }, (_, device) => ({
    device,
    sliceCount: SLICES,
    borrowLimitSlices: Infinity,
  })),
  pathBytesPerSecond: new Float64Array(ENGINES * ENGINES).fill(376e9),
  refillDeadlineNs: 100e6,
  accountWindowNs: 60e9,
});

function drain(engine: EngineId, onEvent: (event: PoolEvent) => void): void {
  for (let event = pool.poll(engine); event !== null; event = pool.poll(engine)) onEvent(event);
}

/** Borrows `count` slices, gives them back; their owners offer them again. */
function roundTrip(count: number): void {
  pool.apply({ type: "RequestSlices", engine: BORROWER, count, allowRunning: false }, 0);
  drain(BORROWER, (event) => {
    if (event.type !== "LeaseGranted") return;
    pool.apply({ type: "ReturnSlices", engine: BORROWER, slices: event.slices }, 0);
    drain(event.lender, (home) => {
      if (home.type !== "SlicesReturned") return;
      pool.apply({ type: "OfferSlices", engine: event.lender, slices: home.slices }, 0);
    });
  });
}

for (let lender = 1; lender < ENGINES; lender++) {
  const engine = engineId(lender);
  const first = pool.firstSliceOf(engine);
  const slices: SliceId[] = Array.from({ length: SLICES }, (_, index) => sliceId(first + index));
  pool.apply({ type: "OfferSlices", engine, slices }, 0);
}

measure("borrow, return and offer again 1 slice", () => roundTrip(1), 1000);
measure("borrow, return and offer again 64 slices", () => roundTrip(64));
measure("obtainable", () => pool.obtainable(BORROWER));
measure("borrow 32 in 32 leases, recall and return them", () => {
  const slices: SliceId[] = [];
  for (let count = 0; count < 32; count++) {
    pool.apply({ type: "RequestSlices", engine: BORROWER, count: 1, allowRunning: false }, 0);
  }
  drain(BORROWER, (event) => {
    if (event.type === "LeaseGranted") slices.push(...event.slices);
  });
  for (let lender = 1; lender < ENGINES; lender++) {
    const engine = engineId(lender);
    pool.apply({ type: "RecallSlices", engine, count: 32, kind: "demand" }, 0);
  }
  pool.apply({ type: "ReturnSlices", engine: BORROWER, slices }, 0);
  drain(BORROWER, () => {});
  for (let lender = 1; lender < ENGINES; lender++) {
    const engine = engineId(lender);
    drain(engine, (event) => {
      if (event.type !== "SlicesReturned") return;
      pool.apply({ type: "OfferSlices", engine, slices: event.slices }, 0);
    });
  }
});

writeMeasured("pool");
