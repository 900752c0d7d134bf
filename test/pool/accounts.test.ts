/** Accounts against their definition, and the back-off by example. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Accounts } from "../../src/pool/accounts.ts";
import { NaiveAccounts } from "./naive-accounts.ts";

const WINDOW_NS = 10e9;
const SECOND_NS = 1e9;

describe("accounts", () => {
  it("block when their definition does", () => {
    const settlement = fc.record({
      pair: fc.nat(2),
      // Whole tokens and quarter windows keep both sums exact, so that they can be compared.
      elapsedNs: fc.constantFrom(0, 2.5e9, 5e9, 10e9, 25e9),
      earned: fc.integer({ min: -30, max: 20 }),
      produced: fc.constantFrom(0, 1000, 2000),
    });
    let blocks = 0;
    fc.assert(
      fc.property(fc.array(settlement, { maxLength: 60, size: "max" }), (settlements) => {
        const accounts = new Accounts(3, WINDOW_NS);
        const naive = new NaiveAccounts(WINDOW_NS);
        let nowNs = 0;
        for (const { pair, elapsedNs, earned, produced } of settlements) {
          nowNs += elapsedNs;
          const isBlocked = accounts.settle(pair, earned, produced, nowNs);
          accounts.check();
          naive.settle(`${pair}`, earned, produced, nowNs);
          expect(isBlocked).toBe(naive.isBlocked(`${pair}`, nowNs));
          for (const aheadNs of [0, 1, SECOND_NS, 2 * SECOND_NS, 63 * SECOND_NS]) {
            for (const other of [0, 1, 2]) {
              const expected = naive.isBlocked(`${other}`, nowNs + aheadNs);
              expect(accounts.isBlocked(other, nowNs + aheadNs)).toBe(expected);
            }
          }
          if (isBlocked) blocks++;
        }
      }),
      { numRuns: 60, seed: 5 },
    );
    expect(blocks).toBeGreaterThan(100);
  });

  /** Settles a heavy loss and returns for how long that blocks, to the second. */
  function secondsBlocked(accounts: Accounts, nowNs: number): number {
    expect(accounts.settle(0, -100, 1000, nowNs)).toBe(true);
    let seconds = 0;
    while (accounts.isBlocked(0, nowNs + seconds * SECOND_NS)) seconds++;
    return seconds;
  }

  it("double the back-off from 1 s to 64 s", () => {
    const accounts = new Accounts(1, WINDOW_NS);
    const seconds: number[] = [];
    let nowNs = 0;
    for (let block = 0; block < 8; block++) {
      seconds.push(secondsBlocked(accounts, nowNs));
      nowNs += seconds.at(-1)! * SECOND_NS;
    }
    expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 64, 64]);
  });

  it("halve it after each window without a block", () => {
    const accounts = new Accounts(1, WINDOW_NS);
    let nowNs = 0;
    for (const expected of [1, 2, 4]) {
      expect(secondsBlocked(accounts, nowNs)).toBe(expected);
      nowNs += expected * SECOND_NS;
    }
    for (let window = 1; window <= 2; window++) {
      nowNs += WINDOW_NS;
      expect(accounts.settle(0, 5, 1000, nowNs)).toBe(false);
    }
    expect(secondsBlocked(accounts, nowNs)).toBe(2);
  });

  it("tolerate a loss of 1 % of what was produced, and forget after the window", () => {
    const accounts = new Accounts(1, WINDOW_NS);
    expect(accounts.settle(0, -10, 1000, 0)).toBe(false);
    expect(accounts.settle(0, -1, 0, 1)).toBe(true);
    const later = new Accounts(1, WINDOW_NS);
    expect(later.settle(0, -10, 1000, 0)).toBe(false);
    expect(later.settle(0, -1, 100, 2 * WINDOW_NS)).toBe(false);
  });
});
