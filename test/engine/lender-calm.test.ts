/** Who is calm, from what was seen at decisions some tens of milliseconds apart. */

import { expect, it } from "vitest";
import { engineId } from "../../src/base/index.ts";
import { LenderCalm } from "../../src/engine/lender-calm.ts";

const MS = 1e6;

/** Watches for so long, every 50 ms; lender 1 runs when told. @returns the time after it. */
function watch(
  calm: LenderCalm,
  fromMs: number,
  ms: number,
  runs: (ms: number) => boolean,
): number {
  for (let at = fromMs; at < fromMs + ms; at += 50) {
    calm.watch({ isRunning: (lender) => lender === 1 && runs(at) }, at * MS);
  }
  return fromMs + ms;
}

it("takes a lender that nobody has seen for calm", () => {
  expect(new LenderCalm(2).isCalm(engineId(1))).toBe(true);
});

it("sees within a second that a lender runs now and then", () => {
  const calm = new LenderCalm(2);
  watch(calm, 0, 1000, (ms) => ms % 200 === 0);
  expect(calm.isCalm(engineId(1))).toBe(false);
  expect(calm.isCalm(engineId(0))).toBe(true);
});

it("takes it for calm again when it has hardly run for some time", () => {
  const calm = new LenderCalm(2);
  const at = watch(calm, 0, 60_000, () => true);
  const later = watch(calm, at, 20_000, () => false);
  expect(calm.isCalm(engineId(1))).toBe(false);
  watch(calm, later, 80_000, (ms) => ms % 1000 === 0);
  expect(calm.isCalm(engineId(1))).toBe(true);
});

it("does not take a long silence of its own for the lender's", () => {
  const calm = new LenderCalm(2);
  watch(calm, 0, 5000, () => true);
  watch(calm, 300_000, 100, () => false);
  expect(calm.isCalm(engineId(1))).toBe(false);
});
