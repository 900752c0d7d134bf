// Both models of what reads of others cost a step, by their formulas.

import { describe, expect, it } from "vitest";
import { parseServer } from "../../src/hardware/index.ts";
import { ServerLoad } from "../../src/sim/server-load.ts";

const topology = parseServer("3xa100-40g");
const { hbmBytesPerSecond: achieved, hbmPeakBytesPerSecond: peak } = topology.gpus[0]!;

describe("server load", () => {
  it("takes what others read away from what a step achieves", () => {
    const load = new ServerLoad(topology, "subtractive", null);
    expect(load.slowdown(0)).toBe(1);
    load.setRate(0, 1, 100e9);
    load.setRate(0, 2, 50e9);
    expect(load.slowdown(0)).toBeCloseTo(achieved / (achieved - 150e9), 12);
    load.setRate(0, 1, 0);
    expect(load.slowdown(0)).toBeCloseTo(achieved / (achieved - 50e9), 12);
    expect(load.slowdown(1)).toBe(1);
  });

  it("or lets both together reach 92 % of the peak, below which nothing is lost", () => {
    const load = new ServerLoad(topology, "ceiling", null);
    const room = 0.92 * peak - achieved;
    load.setRate(0, 1, room * 0.99);
    expect(load.slowdown(0)).toBe(1);
    load.setRate(0, 1, room + 100e9);
    expect(load.slowdown(0)).toBeCloseTo((achieved + room + 100e9) / (0.92 * peak), 12);
  });

  it("counts paced readers up to the lender's share, and what the lender asked for on top", () => {
    const load = new ServerLoad(topology, "subtractive", 0.02);
    load.setRate(0, 1, 200e9);
    expect(load.slowdown(0)).toBeCloseTo(1 / 0.98, 12);
    load.addCopies(0, 2, 50e9, true);
    expect(load.slowdown(0)).toBeCloseTo(achieved / (0.98 * achieved - 50e9), 12);
    load.addCopies(0, 2, -50e9, true);
    load.addCopies(0, 2, 10e9, false);
    expect(load.slowdown(0)).toBeCloseTo(1 / 0.98, 12);
  });

  it("sums copies while they run and never falls below nothing", () => {
    const load = new ServerLoad(topology, "subtractive", null);
    load.addCopies(0, 1, 10e9, false);
    load.addCopies(0, 1, 20e9, false);
    load.addCopies(0, 1, -10e9, false);
    expect(load.slowdown(0)).toBeCloseTo(achieved / (achieved - 20e9), 12);
    load.addCopies(0, 1, -20.5e9, false);
    expect(load.slowdown(0)).toBe(1);
  });

  it("leaves the asker out of what others read, and forgets a GPU whose process has ended", () => {
    const load = new ServerLoad(topology, "subtractive", null);
    load.setRate(0, 1, 30e9);
    load.setRate(0, 2, 20e9);
    load.addCopies(0, 1, 5e9, true);
    expect(load.othersBytesPerSecond(0)).toBe(50e9);
    expect(load.othersBytesPerSecond(0, 1)).toBe(20e9);
    load.forget(1);
    expect(load.othersBytesPerSecond(0)).toBe(20e9);
    expect(load.slowdown(0)).toBeCloseTo(achieved / (achieved - 20e9), 12);
  });

  it("adds up bytes and busy time of each path", () => {
    const load = new ServerLoad(topology, "subtractive", null);
    load.recordPath(1, 0, 10, 3);
    load.recordPath(1, 0, 5, 1);
    load.recordPath(0, 1, 7, 2);
    expect([load.pathBytes[3], load.pathBusyNs[3]]).toStrictEqual([15, 4]);
    expect([load.pathBytes[1], load.pathBusyNs[1]]).toStrictEqual([7, 2]);
  });

  it("refuses to be read faster than its memory is", () => {
    const load = new ServerLoad(topology, "subtractive", null);
    load.setRate(0, 1, achieved);
    expect(() => load.slowdown(0)).toThrow(/read by others/);
  });
});
