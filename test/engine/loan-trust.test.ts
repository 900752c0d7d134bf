/** Trust in loans over losses and time: pauses that grow, and a few slices at first. */

import { expect, it } from "vitest";
import { LoanTrust } from "../../src/engine/loan-trust.ts";

const S = 1e9;

it("knows no bound before a loss", () => {
  expect(new LoanTrust().slices(0)).toBe(Infinity);
});

it("pauses after a loss and comes back two slices at a time", () => {
  const trust = new LoanTrust();
  trust.lost(100 * S);
  expect([100, 107.9, 108, 110, 114].map((at) => trust.slices(at * S))).toEqual([0, 0, 2, 4, 16]);
});

it("takes what is told while slices go home for the same loss", () => {
  const trust = new LoanTrust();
  for (let at = 0; at < 8; at++) trust.lost(at * S);
  expect(trust.slices(8 * S)).toBe(2);
});

it("pauses four times as long after each further loss, within limits", () => {
  const trust = new LoanTrust();
  const pauses: number[] = [];
  let now = 0;
  for (let loss = 0; loss < 6; loss++) {
    trust.lost(now);
    const start = now;
    while (trust.slices(now) === 0) now += S;
    pauses.push((now - start) / S);
    now += 3 * S;
  }
  expect(pauses).toEqual([8, 32, 128, 512, 512, 512]);
});

it("forgives losses before a minute without one", () => {
  const trust = new LoanTrust();
  trust.lost(0);
  trust.lost(8 * S);
  trust.lost((40 + 61) * S);
  expect(trust.slices((40 + 61 + 7) * S)).toBe(0);
  expect(trust.slices((40 + 61 + 8) * S)).toBe(2);
});
