/** The timeline's promises: the rules to the nanosecond, bounds, monotony, rounding, laying again. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StepTimeline, type TimelineInput } from "../../src/prefetch/index.ts";
import { replayByTicks, type TickStep } from "./timeline-replay.ts";

const nothing = (sourceCount: number): Float64Array => new Float64Array(sourceCount);

/** A step of 40 layers like an OPT-13B decode step on an A100-40, with nothing remote. */
function localStep(): TimelineInput {
  return {
    startNs: 1_000_000_000,
    firstGroup: 0,
    groupCount: 40,
    groupLayers: 1,
    layers: 40,
    compute: {
      layers: 40,
      hostNs: 3_000_000,
      headNs: 400_000,
      linearLayerNs: 520_000,
      attentionLayerNs: 150_000,
      hbmBytesPerSecond: 1244e9,
    },
    hbmSlowdown: 1,
    link: { portBytesPerSecond: 276e9, copyCostNs: 2300, latencyNs: 7500 },
    stagedBytes: nothing(3),
    stagedRuns: nothing(3),
    directBytes: nothing(3),
    sourceBytesPerSecond: new Float64Array([276e9, 276e9, 276e9]),
    aheadFromNs: 1_000_000_000,
    aheadShare: 0,
  };
}

const anySource = fc.record({
  stagedBytes: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100_000_000 })),
  runBytes: fc.integer({ min: 50_000, max: 4_000_000 }),
  directBytes: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40_000_000 })),
  bytesPerSecond: fc.oneof(fc.constant(276e9), fc.integer({ min: 5, max: 276 }).map((x) => x * 1e9)),
});

/** Steps with remote bytes over one to four lenders, some of them paced. */
const anyStep = fc
  .record({
    layers: fc.integer({ min: 1, max: 64 }),
    groupLayers: fc.integer({ min: 1, max: 7 }),
    hostNs: fc.double({ min: 0, max: 4e6, noNaN: true }),
    headNs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    linearLayerNs: fc.double({ min: 1e4, max: 1e6, noNaN: true }),
    attentionLayerNs: fc.double({ min: 1e4, max: 5e5, noNaN: true }),
    hbmSlowdown: fc.oneof(fc.constant(1), fc.double({ min: 1, max: 1.5, noNaN: true })),
    aheadNs: fc.integer({ min: 0, max: 2_000_000 }),
    aheadShare: fc.constantFrom(0, 0.5, 0.9, 1),
    sources: fc.array(anySource, { minLength: 1, maxLength: 4 }),
  })
  .map((draw): TimelineInput => {
    const layers = Math.max(draw.layers, draw.groupLayers);
    const step = localStep();
    return {
      ...step,
      layers,
      groupLayers: draw.groupLayers,
      groupCount: Math.ceil(layers / draw.groupLayers),
      compute: { ...step.compute, ...draw, layers },
      hbmSlowdown: draw.hbmSlowdown,
      aheadFromNs: step.startNs - draw.aheadNs,
      aheadShare: draw.aheadShare,
      stagedBytes: Float64Array.from(draw.sources, (source) => source.stagedBytes),
      stagedRuns: Float64Array.from(draw.sources, (source) =>
        Math.ceil(source.stagedBytes / source.runBytes),
      ),
      directBytes: Float64Array.from(draw.sources, (source) => source.directBytes),
      sourceBytesPerSecond: Float64Array.from(draw.sources, (source) => source.bytesPerSecond),
    };
  });

function lay(input: TimelineInput): StepTimeline {
  const timeline = new StepTimeline(input.layers);
  timeline.lay(input);
  return timeline;
}

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

describe("a step laid again from a group", () => {
  it("comes to the same when nothing has changed", () => {
    fc.assert(
      fc.property(anyStep, fc.nat(), (step, pick) => {
        const timeline = lay(step);
        const before = { ...timeline, groupEndNs: timeline.groupEndNs.slice() };
        const firstGroup = 1 + (pick % step.groupCount);
        timeline.lay({
          ...step,
          firstGroup,
          startNs: timeline.groupEndNs[firstGroup - 1]!,
          aheadFromNs: timeline.copyFromNs[firstGroup] ?? 0,
          aheadShare: 1,
        });
        for (let group = 0; group < step.groupCount; group++) {
          const movedNs = timeline.groupEndNs[group]! - before.groupEndNs[group]!;
          expect(Math.abs(movedNs)).toBeLessThanOrEqual(2);
        }
        expect(Math.abs(timeline.endNs - before.endNs)).toBeLessThanOrEqual(2);
        expect(timeline.localEndNs).toBeCloseTo(before.localEndNs, -1);
        expect(Math.abs(timeline.waitNs - before.waitNs)).toBeLessThanOrEqual(2);
        expect(timeline.hits + timeline.lates + timeline.misses).toBe(
          before.hits + before.lates + before.misses,
        );
      }),
    );
  });

  it("keeps the groups that are done for and moves only later ones", () => {
    const step = localStep();
    step.stagedBytes = new Float64Array([20e6, 20e6, 20e6]);
    step.stagedRuns = new Float64Array([12, 12, 12]);
    step.aheadShare = 1;
    const timeline = lay(step);
    const untouched = timeline.groupEndNs.slice();
    const group = timeline.groupAt(step.startNs + 15_000_000);
    timeline.lay({
      ...step,
      firstGroup: group + 1,
      startNs: untouched[group]!,
      sourceBytesPerSecond: new Float64Array([25e9, 25e9, 25e9]),
      aheadFromNs: timeline.copyFromNs[group + 1]!,
    });
    expect(timeline.groupEndNs.slice(0, group + 1)).toEqual(untouched.slice(0, group + 1));
    expect(timeline.groupEndNs[group + 3]!).toBeGreaterThan(untouched[group + 3]!);
    expect(timeline.waitNs).toBeGreaterThan(0);
    expect(timeline.hits + timeline.lates + timeline.misses).toBe(40);
  });

  it("finds the group in flight", () => {
    fc.assert(
      fc.property(anyStep, fc.double({ min: 0, max: 1, noNaN: true }), (step, share) => {
        const timeline = lay(step);
        const ends = [...timeline.groupEndNs.slice(0, step.groupCount)];
        const nowNs = Math.round(step.startNs + share * (timeline.endNs - step.startNs));
        const expected = ends.findIndex((endNs) => endNs > nowNs);
        expect(timeline.groupAt(nowNs)).toBe(expected < 0 ? step.groupCount - 1 : expected);
      }),
    );
  });

  it("refuses to be laid again before the group it continues from has ended", () => {
    const step = localStep();
    const timeline = lay(step);
    const tooEarly = { ...step, firstGroup: 5, startNs: timeline.groupEndNs[4]! - 1 };
    expect(() => timeline.lay(tooEarly)).toThrow("laid again");
  });
});
