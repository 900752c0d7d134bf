/** The closed form and the replay tell the same story once steps follow one another. */

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  predictStepNs,
  StepTimeline,
  type AccessMode,
  accessChoice,
  chooseAccess,
  type TimelineInput,
} from "../../src/prefetch/index.ts";

const anyLoad = fc.record({
  mode: fc.constantFrom<AccessMode>("staged", "direct", "mixed"),
  layers: fc.integer({ min: 32, max: 80 }),
  groupLayers: fc.integer({ min: 1, max: 2 }),
  hostNs: fc.integer({ min: 0, max: 3_000_000 }),
  headNs: fc.integer({ min: 0, max: 500_000 }),
  linearLayerNs: fc.integer({ min: 150_000, max: 700_000 }),
  attentionLayerNs: fc.integer({ min: 50_000, max: 500_000 }),
  hbmBytesPerSecond: fc.constantFrom(1244e9, 1632e9, 3000e9, 4100e9),
  portBytesPerSecond: fc.constantFrom(276e9, 376e9),
  lenderShareOfPort: fc.double({ min: 0.2, max: 2, noNaN: true }),
  /** Link time over the local step: on both sides of the balance point. */
  linkLoad: fc.double({ min: 0.05, max: 2, noNaN: true }),
  runBytes: fc.integer({ min: 500_000, max: 4_000_000 }),
});

type Load = typeof anyLoad extends fc.Arbitrary<infer T> ? T : never;

function remoteBytesPerLayer(load: Load): number {
  const localNs =
    load.hostNs + load.layers * (load.linearLayerNs + load.attentionLayerNs) + load.headNs;
  const rate = Math.min(1, load.lenderShareOfPort) * load.portBytesPerSecond;
  return Math.round((load.linkLoad * localNs * rate) / 1e9 / load.layers);
}

/** The sixth of equal steps in a row, each begun by its forecast during the one before. */
function replaySteadyStepNs(load: Load): number {
  const bytes = remoteBytesPerLayer(load);
  const link = { ...load, copyCostNs: 2300, latencyNs: 7500 };
  const runs = new Float64Array([bytes / load.runBytes]);
  const rates = new Float64Array([load.lenderShareOfPort * load.portBytesPerSecond]);
  const remote = new Float64Array([bytes]);
  const choice = accessChoice(1);
  chooseAccess(load.mode, load, link, load.groupLayers, remote, runs, rates, choice);
  const staged = choice.stagedBytesPerLayer;
  const input: TimelineInput = {
    startNs: 0,
    firstGroup: 0,
    groupCount: Math.ceil(load.layers / load.groupLayers),
    groupLayers: load.groupLayers,
    layers: load.layers,
    compute: load,
    hbmSlowdown: 1,
    link,
    stagedBytes: staged,
    stagedRuns: new Float64Array([(runs[0]! * staged[0]!) / bytes]),
    directBytes: new Float64Array([bytes - staged[0]!]),
    sourceBytesPerSecond: rates,
    aheadFromNs: 0,
    aheadShare: 0,
  };
  const timeline = new StepTimeline(load.layers);
  let tookNs = 0;
  for (let step = 0; step < 6; step++) {
    timeline.lay(input);
    tookNs = timeline.endNs - input.startNs;
    input.startNs = timeline.endNs;
    input.aheadFromNs = timeline.nextAheadFromNs;
    input.aheadShare = 1;
  }
  return tookNs;
}

it("a steady step takes what the closed form predicts, within 1.5 percent", () => {
  fc.assert(
    fc.property(anyLoad, (load) => {
      const predictedNs = predictStepNs(
        load.mode,
        load,
        { ...load, copyCostNs: 2300, latencyNs: 7500 },
        load.groupLayers,
        remoteBytesPerLayer(load),
        load.runBytes,
        load.lenderShareOfPort * load.portBytesPerSecond,
      );
      const replayedNs = replaySteadyStepNs(load);
      expect(replayedNs / predictedNs).toBeGreaterThan(0.985);
      expect(replayedNs / predictedNs).toBeLessThan(1.015);
    }),
    { numRuns: 500 },
  );
});
