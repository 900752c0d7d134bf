/** The timeline's promises: its rules to the nanosecond, bounds, monotony, rounding. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TimelineInput } from "../../src/prefetch/index.ts";
import { anyStep, lay, localStep, nothing } from "./drawn-step.ts";
import { replayByTicks, type TickStep } from "./timeline-replay.ts";

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);

/** Time of all copies of the step: on the port, or from the slowest lender, group by group. */
function copiesNs(input: TimelineInput): number {
  let totalNs = 0;
  for (let group = 0; group < input.groupCount; group++) {
    const layers = Math.min(input.groupLayers, input.layers - group * input.groupLayers);
    let portNs = 0;
    let slowestNs = 0;
    input.stagedBytes.forEach((bytes, source) => {
      const groupBytes = bytes * layers;
      portNs += input.stagedRuns[source]! * input.link.copyCostNs;
      portNs += (groupBytes * 1e9) / input.link.portBytesPerSecond;
      slowestNs = Math.max(slowestNs, (groupBytes * 1e9) / input.sourceBytesPerSecond[source]!);
    });
    totalNs += Math.max(portNs, slowestNs);
  }
  return totalNs;
}

/** The step's compute with its HBM terms, as if nothing ever waited. */
function computeNs(input: TimelineInput): number {
  const { compute, layers, hbmSlowdown, directBytes } = input;
  const perByteNs = 1e9 / compute.hbmBytesPerSecond;
  const linear = compute.linearLayerNs + sum(input.stagedBytes) * perByteNs;
  const attention = compute.attentionLayerNs - sum(directBytes) * perByteNs;
  let directNs = (sum(directBytes) * 1e9) / input.link.portBytesPerSecond;
  directBytes.forEach((bytes, source) => {
    directNs = Math.max(directNs, (bytes * 1e9) / input.sourceBytesPerSecond[source]!);
  });
  const layerNs = linear * hbmSlowdown + Math.max(attention * hbmSlowdown, directNs);
  return compute.hostNs + layers * layerNs + compute.headNs;
}

describe("a step replayed by groups", () => {
  const anyTickStep: fc.Arbitrary<TickStep> = fc.record({
    hostNs: fc.integer({ min: 0, max: 30 }),
    headNs: fc.integer({ min: 0, max: 10 }),
    layers: fc.integer({ min: 1, max: 9 }),
    groupLayers: fc.integer({ min: 1, max: 3 }),
    linearNs: fc.integer({ min: 1, max: 20 }),
    attentionNs: fc.integer({ min: 1, max: 20 }),
    directNs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 25 })),
    stagedNs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 })),
    copyNs: fc.integer({ min: 0, max: 10 }),
    latencyNs: fc.integer({ min: 0, max: 15 }),
    aheadNs: fc.oneof(fc.constant(null), fc.integer({ min: -40, max: 0 })),
  });

  it("ends each group where a replay by single nanoseconds ends it", () => {
    fc.assert(
      fc.property(anyTickStep, (drawn) => {
        const tick = { ...drawn, copyNs: drawn.stagedNs === 0 ? 0 : drawn.copyNs };
        const expected = replayByTicks(tick);
        // A port of one byte a nanosecond and an HBM so fast that its own terms vanish.
        const timeline = lay({
          ...localStep(),
          startNs: 1000,
          layers: tick.layers,
          groupLayers: tick.groupLayers,
          groupCount: Math.ceil(tick.layers / tick.groupLayers),
          compute: {
            layers: tick.layers,
            hostNs: tick.hostNs,
            headNs: tick.headNs,
            linearLayerNs: tick.linearNs,
            attentionLayerNs: tick.attentionNs,
            hbmBytesPerSecond: 1e30,
          },
          link: { portBytesPerSecond: 1e9, copyCostNs: tick.copyNs, latencyNs: tick.latencyNs },
          stagedBytes: new Float64Array([tick.stagedNs]),
          stagedRuns: new Float64Array([tick.stagedNs > 0 ? 1 : 0]),
          directBytes: new Float64Array([tick.directNs]),
          sourceBytesPerSecond: new Float64Array([1e12]),
          aheadFromNs: 1000 + (tick.aheadNs ?? 0),
          aheadShare: tick.aheadNs === null ? 0 : 1,
        });
        const ends = [...timeline.groupEndNs.slice(0, expected.groupEndNs.length)];
        expect(ends.map((endNs) => endNs - 1000)).toEqual(expected.groupEndNs);
        expect(timeline.endNs - 1000).toBe(expected.endNs);
        const prolongedNs = tick.layers * Math.max(tick.directNs - tick.attentionNs, 0);
        expect(timeline.waitNs).toBeCloseTo(expected.stagedWaitNs + prolongedNs, 6);
        const { hits, lates, misses } = timeline;
        expect({ hits, lates, misses }).toEqual({
          hits: expected.hits,
          lates: expected.lates,
          misses: expected.misses,
        });
      }),
      { numRuns: 1000 },
    );
  });

  it("with nothing remote is host, layers and head, rounded once", () => {
    fc.assert(
      fc.property(anyStep, (drawn) => {
        const zeros = nothing(drawn.stagedBytes.length);
        const step = { ...drawn, stagedBytes: zeros, stagedRuns: zeros, directBytes: zeros };
        const { hostNs, headNs, linearLayerNs, attentionLayerNs } = step.compute;
        const layerNs = (linearLayerNs + attentionLayerNs) * step.hbmSlowdown;
        const expectedNs = Math.round(hostNs + step.layers * layerNs + headNs);
        const timeline = lay(step);
        expect(timeline.endNs - step.startNs).toBe(expectedNs);
        expect(timeline.localEndNs).toBe(timeline.endNs);
        expect(timeline.waitNs + timeline.linkBusyNs).toBe(0);
        expect(timeline.hits + timeline.lates + timeline.misses).toBe(0);
      }),
    );
  });

  it("takes a shortcut with nothing remote that equals the replay to the nanosecond", () => {
    fc.assert(
      fc.property(anyStep, (drawn) => {
        const zeros = nothing(drawn.stagedBytes.length);
        const local = { ...drawn, stagedBytes: zeros, stagedRuns: zeros, directBytes: zeros };
        // So few bytes that no sum changes by a bit, yet enough to keep the replay from being
        // skipped.
        const crumb = zeros.slice();
        crumb[0] = 1e-200;
        const short = lay(local);
        const replayed = lay({ ...local, directBytes: crumb });
        expect(replayed.groupEndNs).toEqual(short.groupEndNs);
        expect(replayed.endNs).toBe(short.endNs);
        expect(replayed.localEndNs).toBe(short.localEndNs);
        expect(replayed.linkBusyNs).toBeGreaterThan(0);
      }),
    );
  });

  it("ends no earlier than compute and link allow, in whole and rising nanoseconds", () => {
    fc.assert(
      fc.property(anyStep, (step) => {
        const timeline = lay(step);
        const tookNs = timeline.endNs - step.startNs;
        expect(tookNs).toBeGreaterThanOrEqual(computeNs(step) - 1);
        expect(timeline.endNs - step.aheadFromNs).toBeGreaterThanOrEqual(copiesNs(step) - 1);
        let beforeNs = step.startNs;
        for (let group = 0; group < step.groupCount; group++) {
          const endNs = timeline.groupEndNs[group]!;
          expect(Number.isInteger(endNs)).toBe(true);
          expect(endNs).toBeGreaterThanOrEqual(beforeNs);
          beforeNs = endNs;
        }
        expect(timeline.endNs).toBeGreaterThanOrEqual(beforeNs);
        expect(Number.isInteger(timeline.nextAheadFromNs)).toBe(true);
        expect(timeline.nextAheadFromNs).toBeLessThanOrEqual(beforeNs);
        expect(timeline.waitNs).toBeLessThanOrEqual(timeline.linkBusyNs + 1e-3);
        const counted = timeline.hits + timeline.lates + timeline.misses;
        expect(counted).toBe(sum(step.stagedBytes) > 0 ? step.groupCount : 0);
      }),
    );
  });

  it("with direct reads alone is its compute, the reads' port time included", () => {
    fc.assert(
      fc.property(anyStep, (drawn) => {
        const zeros = nothing(drawn.stagedBytes.length);
        const step = { ...drawn, stagedBytes: zeros, stagedRuns: zeros };
        const tookNs = lay(step).endNs - step.startNs;
        expect(Math.abs(tookNs - computeNs(step))).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("never ends earlier with more bytes, slower links or less ahead", () => {
    const anyFactor = fc.double({ min: 1, max: 3, noNaN: true });
    fc.assert(
      fc.property(anyStep, fc.nat(), anyFactor, (step, pick, factor) => {
        const baseEndNs = lay(step).endNs;
        const source = pick % step.stagedBytes.length;
        const scaled = (values: Float64Array, by: number): Float64Array =>
          values.map((value, index) => (index === source ? value * by : value));
        const moreDirect = scaled(step.directBytes, factor);
        const addedNs =
          ((sum(moreDirect) - sum(step.directBytes)) * 1e9) / step.compute.hbmBytesPerSecond;
        const { link, compute } = step;
        const slowPort = { ...link, portBytesPerSecond: link.portBytesPerSecond / factor };
        const variants: Record<string, Partial<TimelineInput>> = {
          staged: { stagedBytes: scaled(step.stagedBytes, factor) },
          runs: { stagedRuns: scaled(step.stagedRuns, factor) },
          // More context read in place: attention would have been longer by it, had it been local.
          direct: {
            directBytes: moreDirect,
            compute: { ...compute, attentionLayerNs: compute.attentionLayerNs + addedNs },
          },
          port: { link: slowPort },
          lender: { sourceBytesPerSecond: scaled(step.sourceBytesPerSecond, 1 / factor) },
          latency: { link: { ...link, latencyNs: link.latencyNs * factor } },
          share: { aheadShare: step.aheadShare / factor },
          ahead: { aheadFromNs: Math.round((step.aheadFromNs + step.startNs) / 2) },
          slowdown: { hbmSlowdown: step.hbmSlowdown * factor },
        };
        for (const [name, variant] of Object.entries(variants)) {
          const endNs = lay({ ...step, ...variant }).endNs;
          expect(endNs, `more ${name}`).toBeGreaterThanOrEqual(baseEndNs - 1);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("does not change when the clock is shifted", () => {
    fc.assert(
      fc.property(anyStep, fc.integer({ min: 0, max: 1e13 }), (step, shiftNs) => {
        const shifted = lay({
          ...step,
          startNs: step.startNs + shiftNs,
          aheadFromNs: step.aheadFromNs + shiftNs,
        });
        expect(shifted.endNs - shiftNs).toBe(lay(step).endNs);
      }),
    );
  });
});
