/**
 * Steps that the timeline's tests draw: one local step by hand, and any step with remote bytes.
 */

import fc from "fast-check";
import { StepTimeline, type TimelineInput } from "../../src/prefetch/index.ts";

export const nothing = (sourceCount: number): Float64Array => new Float64Array(sourceCount);

/** A step of 40 layers like an OPT-13B decode step on an A100-40, with nothing remote. */
export function localStep(): TimelineInput {
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
  bytesPerSecond: fc.oneof(
    fc.constant(276e9),
    fc.integer({ min: 5, max: 276 }).map((gigabytes) => gigabytes * 1e9),
  ),
});

/** Steps with remote bytes over one to four lenders, some of them paced. */
export const anyStep = fc
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

export function lay(input: TimelineInput): StepTimeline {
  const timeline = new StepTimeline(input.layers);
  timeline.lay(input);
  return timeline;
}
