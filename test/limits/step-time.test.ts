/** Steps of the closed form: on measured operators, and on a link that the ring holds up. */

import { describe, expect, it } from "vitest";
import { createCostModel, findGpu, findModel } from "../../src/hardware/index.ts";
import { evaluateShare } from "../../src/limits/best-share.ts";
import { measuredBorrower, practicalLimit } from "../../src/limits/index.ts";
import { DEFAULTS, OPT } from "./default-inputs.ts";

describe("measured operators", () => {
  it("take the place of bandwidths: the local step is the cost model's", () => {
    const gpu = findGpu("a100-40g");
    const model = findModel("OPT-13B");
    const cost = createCostModel(gpu, model);
    const measured = measuredBorrower(OPT, gpu, model);
    const { static: fixed } = practicalLimit({ ...DEFAULTS, borrower: measured });
    const n = fixed.sequences;
    const layerNs = cost.linearLayerNs(n) + cost.decodeAttentionLayerNs(n, n * 512);
    const stepNs = cost.hostNs + 40 * layerNs + cost.headNs(n);
    expect(fixed.stepSeconds).toBeCloseTo(stepNs / 1e9, 12);
  });
});

describe("the ring", () => {
  it("costs a link-bound step what the link cannot do around the step's end", () => {
    const slow = { ...OPT, portBytesPerSecond: 100e9 };
    // Borrowed beyond the balance point, a step is more than its bytes over the link.
    const surroundings = {
      borrower: slow,
      mode: "staged" as const,
      localBytes: OPT.ownKvBytes,
      remoteBytesMax: OPT.ownKvBytes,
      idleBytes: OPT.ownKvBytes,
      sequenceBytes: 512 * OPT.kvBytesPerToken,
      openBytes: 0,
      ringShare: 0,
      unitBytes: 0,
      sequencesMax: Infinity,
      areSequencesWhole: false,
      link: {
        bytesPerSecond: 100e9,
        pacedBytesPerSecond: Infinity,
        copySecondsPerByte: 0,
        latencySeconds: 0,
        groupLayers: 1,
      },
      prefill: null,
    };
    const remoteBytes = 8e9;
    const { time, sequences } = evaluateShare(surroundings, remoteBytes, remoteBytes);
    const attention = (sequences * 512 * OPT.kvBytesPerToken) / 1244e9;
    const linear = (OPT.weightBytes + remoteBytes) / 1244e9;
    // g = 1 of 40 layers; there is no head.
    const one = attention / 40 + (39 / 40) * 0.08;
    const two = 0.003 + (linear + 2 * attention) / 40 + (38 / 40) * 0.08;
    expect(time.seconds).toBeCloseTo(Math.max(0.08, one, two), 12);
    expect(time.seconds).toBeGreaterThan(0.08);
  });
});
