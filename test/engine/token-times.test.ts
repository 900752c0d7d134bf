/** The spread of times per token, against the order statistics of the last requests. */

import { expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import { TokenTimes } from "../../src/engine/token-times.ts";

it("assumes a spread until enough requests have ended", () => {
  const times = new TokenTimes();
  for (let request = 0; request < 39; request++) times.observe(1e6);
  expect(times.spread).toBe(1.3);
  expect(times.slowNs).toBe(0);
  times.observe(1e6);
  expect(times.spread).toBe(1);
  expect(times.slowNs).toBe(1e6);
});

it("is the slowest twentieth of the last 128 over their mean", () => {
  const times = new TokenTimes();
  const prng = new Prng(4);
  const all = Array.from({ length: 500 }, () => 1e6 * (1 + prng.nextUnit()));
  for (const tpotNs of all) times.observe(tpotNs);
  const last = all.slice(-128).sort((a, b) => a - b);
  const mean = last.reduce((sum, ns) => sum + ns, 0) / 128;
  const slow = last[Math.ceil(0.95 * 128) - 1]!;
  expect(times.spread).toBeCloseTo(slow / mean, 12);
  expect(times.slowNs).toBeCloseTo(slow, 3);
});

it("is bounded, so that a few requests that hung do not end all borrowing", () => {
  const times = new TokenTimes();
  for (let request = 0; request < 100; request++) times.observe(request < 90 ? 1e6 : 1e9);
  expect(times.spread).toBe(2);
});
