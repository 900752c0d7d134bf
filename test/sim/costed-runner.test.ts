// Steps in virtual time: the shortcut equals the replay, an interrupted step goes on where it was.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseServer } from "../../src/hardware/index.ts";
import { ReadSet, StepTimeline, type StepCompute } from "../../src/prefetch/index.ts";
import { CostedRunner } from "../../src/sim/costed-runner.ts";
import { ServerLoad } from "../../src/sim/server-load.ts";

const topology = parseServer("3xa100-40g");
const { portBytesPerSecond, hbmBytesPerSecond } = topology.gpus[0]!;
const link = { portBytesPerSecond, copyCostNs: 2300, latencyNs: 7500 };
/** Sources of the engine on GPU 0: itself, the two others, the host. */
const SOURCES = 4;

const anyCompute = fc.record({
  layers: fc.integer({ min: 1, max: 80 }),
  hostNs: fc.double({ min: 0, max: 5e6, noNaN: true }),
  headNs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  linearLayerNs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  attentionLayerNs: fc.double({ min: 1, max: 1e6, noNaN: true }),
  hbmBytesPerSecond: fc.constant(hbmBytesPerSecond),
});

const anyShare = fc.double({ min: 0, max: 1, noNaN: true });

const anyReads = fc.array(
  fc.record({
    source: fc.integer({ min: 1, max: 2 }),
    runs: fc.integer({ min: 1, max: 8 }),
    bytes: fc.integer({ min: 1000, max: 2e7 }),
  }),
  { minLength: 1, maxLength: 12 },
);

function runnerOf(layers: number, load: ServerLoad): CostedRunner {
  return new CostedRunner(
    {
      gpu: 0,
      layers,
      link,
      gpuOfSource: Int32Array.of(-1, 1, 2, -1),
      portOfGpu: Float64Array.from(topology.gpus, (gpu) => gpu.portBytesPerSecond),
    },
    load,
  );
}

function workOf(compute: StepCompute, groupLayers: number, readSet = new ReadSet(SOURCES, 8)) {
  const sourceBytesPerSecond = new Float64Array(SOURCES).fill(portBytesPerSecond);
  return { compute, groupLayers, readSet, sourceBytesPerSecond, aheadShare: 1 };
}

function readSetOf(reads: readonly { source: number; runs: number; bytes: number }[]): ReadSet {
  const readSet = new ReadSet(SOURCES, 8);
  reads.forEach(({ source, runs, bytes }, key) => readSet.set(key, source, runs, bytes));
  return readSet;
}

describe("costed runner", () => {
  it("collapses a local step to the nanosecond of its replay", () => {
    fc.assert(
      fc.property(
        anyCompute,
        fc.integer({ min: 1, max: 8 }),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        fc.integer({ min: 0, max: 4e12 }),
        (compute, groupLayers, lentShare, startNs) => {
          const load = new ServerLoad(topology, "subtractive", null);
          load.setRate(0, 1, lentShare * hbmBytesPerSecond);
          const runner = runnerOf(compute.layers, load);
          runner.submit(workOf(compute, groupLayers), startNs);
          const timeline = new StepTimeline(compute.layers);
          timeline.lay({
            startNs,
            firstGroup: 0,
            groupCount: Math.ceil(compute.layers / groupLayers),
            groupLayers,
            layers: compute.layers,
            compute,
            hbmSlowdown: load.slowdown(0),
            link,
            stagedBytes: new Float64Array(SOURCES),
            stagedRuns: new Float64Array(SOURCES),
            directBytes: new Float64Array(SOURCES),
            sourceBytesPerSecond: new Float64Array(SOURCES).fill(portBytesPerSecond),
            aheadFromNs: startNs,
            aheadShare: 1,
          });
          expect(runner.timing.endNs).toBe(timeline.endNs);
          expect(startNs + runner.timing.localNs).toBe(timeline.localEndNs);
          expect(runner.nextDueNs()).toBe(timeline.endNs);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("ends once, when it is due, and not before", () => {
    const compute = { layers: 4, hostNs: 100, headNs: 10, linearLayerNs: 5, attentionLayerNs: 5 };
    const runner = runnerOf(4, new ServerLoad(topology, "subtractive", null));
    expect(runner.poll(Infinity)).toBe(false);
    runner.submit(workOf({ ...compute, hbmBytesPerSecond }, 1), 1000);
    expect(runner.nextDueNs()).toBe(1150);
    expect(runner.poll(1149)).toBe(false);
    expect(runner.poll(1150)).toBe(true);
    expect(runner.poll(1150)).toBe(false);
    expect(runner.nextDueNs()).toBe(Infinity);
  });

  it("is made longer by others' reads as far as it waits for HBM", () => {
    const load = new ServerLoad(topology, "subtractive", null);
    load.setRate(0, 1, hbmBytesPerSecond / 2);
    const layer = { linearLayerNs: 600, attentionLayerNs: 400 };
    const compute = { layers: 4, hostNs: 100, headNs: 10, ...layer, hbmBytesPerSecond };
    const durationOf = (hbmLayerNs?: number): number => {
      const runner = runnerOf(4, load);
      runner.submit(workOf({ ...compute, ...(hbmLayerNs !== undefined && { hbmLayerNs }) }, 1), 0);
      return runner.nextDueNs();
    };
    expect(durationOf()).toBe(100 + 4 * 2000 + 10);
    expect(durationOf(1000)).toBe(100 + 4 * 2000 + 10);
    expect(durationOf(250)).toBe(100 + 4 * 1250 + 10);
    expect(durationOf(0)).toBe(100 + 4 * 1000 + 10);
  });

  it("goes on as before when what follows an interrupt is what was planned", () => {
    fc.assert(
      fc.property(anyCompute, anyReads, anyShare, (c, reads, at) => {
        const load = new ServerLoad(topology, "subtractive", null);
        const runner = runnerOf(c.layers, load);
        const work = workOf(c, 1, readSetOf(reads));
        runner.submit(work, 0);
        const plannedNs = runner.nextDueNs();
        const nowNs = Math.floor(at * (plannedNs - 1));
        const groupEndNs = runner.interrupt(nowNs);
        runner.resume(work);
        expect(Math.abs(runner.nextDueNs() - plannedNs)).toBeLessThanOrEqual(2);
        expect(groupEndNs).toBeLessThanOrEqual(plannedNs);
      }),
    );
  });

  it("ends earlier when its rest reads nothing remote, not before the group in flight", () => {
    fc.assert(
      fc.property(anyCompute, anyReads, anyShare, (c, reads, at) => {
        const load = new ServerLoad(topology, "subtractive", null);
        const runner = runnerOf(c.layers, load);
        runner.submit(workOf(c, 1, readSetOf(reads)), 0);
        const plannedNs = runner.nextDueNs();
        const groupEndNs = runner.interrupt(Math.floor(at * (plannedNs - 1)));
        runner.resume(workOf(c, 1));
        expect(runner.nextDueNs()).toBeLessThanOrEqual(plannedNs + 1);
        expect(runner.nextDueNs()).toBeGreaterThanOrEqual(groupEndNs);
      }),
    );
  });

  it("loads its lenders while it reads them, and only then", () => {
    const layer = { linearLayerNs: 1e5, attentionLayerNs: 1e5 };
    const compute = { layers: 8, hostNs: 1e6, headNs: 1e5, ...layer };
    const load = new ServerLoad(topology, "subtractive", null);
    const runner = runnerOf(8, load);
    const readSet = readSetOf([{ source: 1, runs: 1, bytes: 1e6 }]);
    runner.submit(workOf({ ...compute, hbmBytesPerSecond }, 1, readSet), 0);
    const seconds = (runner.timing.endNs - runner.timing.startNs) / 1e9;
    expect(load.othersBytesPerSecond(1)).toBeCloseTo(8e6 / seconds, 0);
    expect(load.othersBytesPerSecond(2)).toBe(0);
    expect(runner.timing.readBytes[1]).toBe(8e6);
    runner.poll(runner.nextDueNs());
    runner.submit(workOf({ ...compute, hbmBytesPerSecond }, 1), runner.timing.endNs);
    expect(load.othersBytesPerSecond(1)).toBe(0);
    expect(runner.timing.readBytes[1]).toBe(0);
  });

  it("is slower where another borrower has the lender's port already", () => {
    const compute = { layers: 8, hostNs: 0, headNs: 0, linearLayerNs: 1e4, attentionLayerNs: 1e4 };
    const endOf = (othersBytesPerSecond: number): number => {
      const load = new ServerLoad(topology, "subtractive", null);
      load.setRate(1, 2, othersBytesPerSecond);
      const runner = runnerOf(8, load);
      const readSet = readSetOf([{ source: 1, runs: 1, bytes: 1e8 }]);
      runner.submit(workOf({ ...compute, hbmBytesPerSecond }, 1, readSet), 0);
      return runner.nextDueNs();
    };
    expect(endOf(portBytesPerSecond / 4) / endOf(0)).toBeCloseTo(4 / 3, 1);
    // At least half of the port is its own.
    expect(endOf(portBytesPerSecond) / endOf(0)).toBeCloseTo(2, 1);
  });

  it("says how a lender could be read in the rest too, though only the part before read it", () => {
    const compute = { layers: 8, hostNs: 0, headNs: 0, linearLayerNs: 1e4, attentionLayerNs: 1e4 };
    const load = new ServerLoad(topology, "subtractive", null);
    const runner = runnerOf(8, load);
    const readSet = readSetOf([{ source: 1, runs: 1, bytes: 1e6 }]);
    runner.submit(workOf({ ...compute, hbmBytesPerSecond }, 1, readSet), 0);
    expect(runner.timing.readableBytesPerSecond![1]).toBe(portBytesPerSecond);
    runner.interrupt(0);
    load.setRate(1, 2, portBytesPerSecond / 4);
    runner.resume(workOf({ ...compute, hbmBytesPerSecond }, 1));
    expect(runner.timing.readBytes[1]).toBeGreaterThan(0);
    expect(runner.timing.readableBytesPerSecond![1]).toBe((3 * portBytesPerSecond) / 4);
  });
});
