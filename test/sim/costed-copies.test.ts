// Copies in virtual time: first in, first out for each pair of places, and at the lender's pace.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseServer } from "../../src/hardware/index.ts";
import { CostedCopies } from "../../src/sim/costed-copies.ts";
import { ServerLoad } from "../../src/sim/server-load.ts";

const PATH = 100e9;
const HOST = 25e9;
const LATENCY_NS = 7500;
const COPY_NS = 2300;
/** Sources of the engine on GPU 0: itself, GPUs 1 and 2, the host. */
const [OWN, FIRST, SECOND, HOST_SOURCE] = [0, 1, 2, 3];

function copiesOf(paceOf: (gpu: number) => number = () => Infinity, hasPeers = true) {
  const load = new ServerLoad(parseServer("3xa100-40g"), "subtractive", null);
  const rate = hasPeers ? PATH : 0;
  const copies = new CostedCopies(
    {
      gpu: 0,
      gpuOfSource: Int32Array.of(0, 1, 2, -1),
      pathBytesPerSecond: new Float64Array(9).fill(rate),
      gpuCount: 3,
      hostBytesPerSecond: HOST,
      copyCostNs: COPY_NS,
      latencyNs: LATENCY_NS,
      paceOf,
    },
    load,
  );
  const endsAt = (untilNs = Infinity): Map<number, number> => {
    const ends = new Map<number, number>();
    while (copies.nextDueNs() <= untilNs && copies.nextDueNs() < Infinity) {
      const dueNs = copies.nextDueNs();
      ends.set(copies.poll(dueNs), dueNs);
    }
    return ends;
  };
  return { copies, load, endsAt };
}

const bytesNs = (bytes: number, rate: number): number => (bytes * 1e9) / rate;

const anyCopy = fc.record({
  bytes: fc.integer({ min: 1, max: 1e8 }),
  copies: fc.integer({ min: 1, max: 99 }),
});

describe("costed copies", () => {
  it("of one pair follow each other, with one latency a train", () => {
    fc.assert(
      fc.property(
        fc.array(anyCopy, { minLength: 1, maxLength: 20 }),
        (train) => {
          const { copies, endsAt } = copiesOf();
          train.forEach((copy, id) => {
            copies.submit({ id, source: OWN, target: FIRST, ...copy, isExempt: false }, 1000);
          });
          const ends = endsAt();
          expect([...ends.keys()]).toStrictEqual(train.map((_, id) => id));
          let expectedNs = 1000 + LATENCY_NS;
          train.forEach(({ bytes, copies: pieces }, id) => {
            expectedNs += pieces * COPY_NS + bytesNs(bytes, PATH);
            expect(Math.abs(ends.get(id)! - expectedNs)).toBeLessThanOrEqual(id + 1);
          });
        },
      ),
    );
  });

  it("of other pairs do not wait", () => {
    const { copies, endsAt } = copiesOf();
    const rest = { copies: 1, isExempt: false };
    copies.submit({ id: 1, source: OWN, target: FIRST, bytes: 1e9, ...rest }, 0);
    copies.submit({ id: 2, source: OWN, target: SECOND, bytes: 1e6, ...rest }, 0);
    copies.submit({ id: 3, source: FIRST, target: OWN, bytes: 1e6, ...rest }, 0);
    expect([...endsAt().keys()]).toStrictEqual([2, 3, 1]);
  });

  it("end no earlier than when they are asked for", () => {
    const { copies } = copiesOf();
    copies.submit({ id: 7, source: OWN, target: FIRST, bytes: 1e6, copies: 1, isExempt: false }, 0);
    const dueNs = copies.nextDueNs();
    expect(copies.poll(dueNs - 1)).toBe(-1);
    expect(copies.poll(dueNs)).toBe(7);
    expect(copies.poll(dueNs)).toBe(-1);
    expect(copies.nextDueNs()).toBe(Infinity);
  });

  it.each([
    ["keep to the share of a lender that runs", false, FIRST, 30e9, 30e9],
    ["are not paced where the lender asked for them", true, FIRST, 30e9, PATH],
    ["are no faster than their path", false, FIRST, 900e9, PATH],
    ["go to the host at the host's rate", false, HOST_SOURCE, 30e9, HOST],
  ])("%s", (_, isExempt, target, paceOf1, rate) => {
    const { copies } = copiesOf((gpu) => (gpu === 1 ? paceOf1 : Infinity));
    copies.submit({ id: 1, source: OWN, target, bytes: 1e8, copies: 10, isExempt }, 0);
    const expectedNs = LATENCY_NS + 10 * COPY_NS + bytesNs(1e8, rate);
    expect(copies.nextDueNs()).toBe(Math.round(expectedNs));
  });

  it("go through the host between lenders without a path", () => {
    const { copies } = copiesOf(undefined, false);
    const rest = { bytes: 1e8, copies: 1, isExempt: true };
    copies.submit({ id: 1, source: FIRST, target: SECOND, ...rest }, 0);
    expect(copies.nextDueNs()).toBe(Math.round(LATENCY_NS + COPY_NS + bytesNs(1e8, HOST)));
  });

  it("slow others' GPUs down until the last of a train has ended, and never their own", () => {
    const { copies, load } = copiesOf();
    for (const id of [1, 2, 3]) {
      copies.submit({ id, source: FIRST, target: OWN, bytes: 1e7, copies: 1, isExempt: false }, 0);
    }
    for (const id of [1, 2, 3]) {
      expect(load.slowdown(1)).toBeGreaterThan(1);
      expect(load.slowdown(0)).toBe(1);
      expect(copies.poll(copies.nextDueNs())).toBe(id);
    }
    expect(load.slowdown(1)).toBe(1);
  });

  it("wait for a GPU that gives nothing, and go on when it does", () => {
    let pace = 0;
    const { copies } = copiesOf(() => pace);
    const rest = { source: OWN, target: FIRST, bytes: 1e6, copies: 1, isExempt: false };
    copies.submit({ id: 1, ...rest }, 0);
    copies.submit({ id: 2, ...rest }, 0);
    for (let tries = 0; tries < 5; tries++) {
      const dueNs = copies.nextDueNs();
      expect(copies.poll(dueNs)).toBe(-1);
      expect(copies.nextDueNs()).toBeGreaterThan(dueNs);
    }
    pace = Infinity;
    const startNs = copies.nextDueNs();
    expect(copies.poll(startNs)).toBe(-1);
    const firstNs = copies.nextDueNs();
    expect(firstNs).toBe(startNs + LATENCY_NS + COPY_NS + bytesNs(1e6, PATH));
    expect(copies.poll(firstNs)).toBe(1);
    expect(copies.nextDueNs()).toBe(firstNs + COPY_NS + bytesNs(1e6, PATH));
  });

  it("that are given up end at once, begun or not, and those behind them go on", () => {
    const { copies, load, endsAt } = copiesOf();
    const rest = { source: OWN, target: FIRST, bytes: 1e9, copies: 1, isExempt: false };
    for (const id of [1, 2, 3]) copies.submit({ id, ...rest }, 0);
    copies.abort(2, 1000);
    expect(copies.nextDueNs()).toBe(1000);
    expect(copies.poll(1000)).toBe(2);
    copies.abort(1, 2000);
    expect(copies.poll(2000)).toBe(1);
    copies.abort(9, 2000);
    expect([...endsAt()]).toStrictEqual([[3, 2000 + COPY_NS + bytesNs(1e9, PATH)]]);
    expect(load.slowdown(1)).toBe(1);
  });
});
