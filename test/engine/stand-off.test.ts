// Stranded engines give way one at a time, and only while they are stranded.

import { describe, expect, it } from "vitest";
import { engineId } from "../../src/base/index.ts";
import { StandOff } from "../../src/engine/stand-off.ts";

const SECOND = 1e9;

/** When a stand-off asked every 50 ms says so for the first time, in seconds. */
function firstSeconds(says: (nowNs: number) => boolean): number {
  for (let nowNs = 0; nowNs < 100 * SECOND; nowNs += 0.05 * SECOND) {
    if (says(nowNs)) return nowNs / SECOND;
  }
  return Infinity;
}

describe("a stand-off", () => {
  it("makes engines give way one after another, by number", () => {
    const waits = [0, 1, 2].map((index) => {
      const standOff = new StandOff(engineId(index));
      return firstSeconds((nowNs) => standOff.decide(true, 0, nowNs));
    });
    expect(waits[0]).toBeLessThan(waits[1]!);
    expect(waits[1]).toBeLessThan(waits[2]!);
  });

  it("never makes an engine give way that has something to do, or had a moment ago", () => {
    const standOff = new StandOff(engineId(0));
    expect(firstSeconds((nowNs) => standOff.decide(false, 0, nowNs))).toBe(Infinity);
    let asked = 0;
    expect(firstSeconds((nowNs) => standOff.decide(asked++ % 4 > 0, 0, nowNs))).toBe(Infinity);
  });

  it("takes back soon what nobody takes, and later what somebody runs on", () => {
    const yieldedSeconds = (lentSlices: number): number => {
      const standOff = new StandOff(engineId(0));
      const began = firstSeconds((nowNs) => standOff.decide(true, lentSlices, nowNs));
      const beganNs = began * SECOND;
      const ended = firstSeconds((nowNs) => !standOff.decide(true, lentSlices, beganNs + nowNs));
      expect(standOff.isYielding).toBe(false);
      return ended;
    };
    expect(yieldedSeconds(0)).toBeLessThan(5);
    expect(yieldedSeconds(3)).toBeGreaterThan(8);
    expect(yieldedSeconds(3)).toBeLessThan(60);
  });

  it("waits its patience anew after it took its memory back", () => {
    const standOff = new StandOff(engineId(0));
    const says: boolean[] = [];
    for (let nowNs = 0; nowNs < 10 * SECOND; nowNs += 0.05 * SECOND) {
      says.push(standOff.decide(true, 0, nowNs));
    }
    const begins = says.filter((isYielding, index) => isYielding && says[index - 1] === false);
    expect(begins.length).toBeGreaterThan(2);
  });
});
