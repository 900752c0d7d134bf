/** The access mode against a search of all splits, and against the equations of docs/METHOD.md. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  accessChoice,
  chooseAccess,
  predictStepNs,
  type AccessMode,
  type LinkCosts,
  type StepCompute,
} from "../../src/prefetch/index.ts";

interface Question {
  compute: StepCompute;
  link: LinkCosts;
  groupLayers: number;
  bytes: number[];
  runs: number[];
  rates: number[];
}

const anySource = fc.record({
  bytes: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60_000_000 })),
  runBytes: fc.integer({ min: 30_000, max: 4_000_000 }),
  // From a paced lender to a link of its own that beats the port.
  rate: fc.integer({ min: 2, max: 500 }).map((gigabytes) => gigabytes * 1e9),
});

const anyQuestion = (sourcesMax: number): fc.Arbitrary<Question> =>
  fc
    .record({
      layers: fc.integer({ min: 1, max: 80 }),
      groupLayers: fc.integer({ min: 1, max: 8 }),
      hostNs: fc.integer({ min: 0, max: 4_000_000 }),
      headNs: fc.integer({ min: 0, max: 1_000_000 }),
      linearLayerNs: fc.integer({ min: 1, max: 800_000 }),
      attentionLayerNs: fc.integer({ min: 1, max: 800_000 }),
      hbm: fc.integer({ min: 300, max: 5000 }),
      port: fc.integer({ min: 20, max: 800 }),
      sources: fc.array(anySource, { minLength: 1, maxLength: sourcesMax }),
    })
    .map((draw) => ({
      compute: { ...draw, hbmBytesPerSecond: draw.hbm * 1e9 },
      link: { portBytesPerSecond: draw.port * 1e9, copyCostNs: 2300, latencyNs: 7500 },
      groupLayers: draw.groupLayers,
      bytes: draw.sources.map((source) => source.bytes),
      runs: draw.sources.map((source) => Math.ceil(source.bytes / source.runBytes)),
      rates: draw.sources.map((source) => source.rate),
    }));

function choose(mode: AccessMode, question: Question) {
  const choice = accessChoice(question.bytes.length);
  chooseAccess(
    mode,
    question.compute,
    question.link,
    question.groupLayers,
    Float64Array.from(question.bytes),
    Float64Array.from(question.runs),
    Float64Array.from(question.rates),
    choice,
  );
  return choice;
}

/** The step of one split, written down anew from the equations. */
function stepOf(question: Question, staged: readonly number[]) {
  const { compute, link, bytes, runs, rates } = question;
  const { layers } = compute;
  const total = bytes.reduce((sum, value) => sum + value, 0);
  const stagedBytes = staged.reduce((sum, value) => sum + value, 0);
  const directBytes = total - stagedBytes;
  const port = link.portBytesPerSecond / 1e9;
  const hbm = compute.hbmBytesPerSecond / 1e9;
  let directNs = directBytes / port;
  let copies = 0;
  let slowestNs = 0;
  bytes.forEach((value, source) => {
    if (value === 0) return;
    const rate = rates[source]! / 1e9;
    directNs = Math.max(directNs, (value - staged[source]!) / rate);
    slowestNs = Math.max(slowestNs, value / rate);
    copies += (runs[source]! * staged[source]!) / value;
  });
  const groups = Math.ceil(layers / question.groupLayers);
  const linkNs = Math.max((copies * link.copyCostNs * groups) / layers + total / port, slowestNs);
  const linear = compute.linearLayerNs + stagedBytes / hbm;
  const attention = Math.max(compute.attentionLayerNs - directBytes / hbm, directNs);
  const size = Math.min(question.groupLayers, layers);
  const stepNs = Math.max(
    compute.hostNs + layers * (linear + attention) + compute.headNs,
    layers * linkNs,
    compute.headNs + size * attention + Math.max(layers - size, 0) * linkNs,
    layers <= size
      ? 0
      : compute.headNs +
          compute.hostNs +
          size * (linear + 2 * attention) +
          Math.max(layers - 2 * size, 0) * linkNs,
  );
  const readNs = Math.max(compute.attentionLayerNs - directBytes / hbm, 0);
  const balanceNs = compute.hostNs + layers * (linear + readNs) + compute.headNs;
  return { stepNs, linkNs: layers * linkNs, balanceNs };
}

/** All splits on a grid, of up to three sources. */
function* grid(bytes: readonly number[], points: number): Generator<number[]> {
  const [first, ...rest] = bytes;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const tail of grid(rest, points)) {
    for (let point = 0; point <= points; point++) yield [(first * point) / points, ...tail];
    if (first === 0) return;
  }
}

const LINK = { portBytesPerSecond: 276e9, copyCostNs: 2300, latencyNs: 7500 };

const SHORT_STEP = {
  layers: 4,
  hostNs: 10,
  headNs: 5,
  linearLayerNs: 7,
  attentionLayerNs: 3,
  hbmBytesPerSecond: 1e12,
};

/** OPT-13B on an A100, with so much attention a layer. */
function a100Step(attentionLayerNs: number): Pick<Question, "compute" | "link" | "groupLayers"> {
  const compute = {
    layers: 40,
    hostNs: 3e6,
    headNs: 4e5,
    linearLayerNs: 5e5,
    attentionLayerNs,
    hbmBytesPerSecond: 1244e9,
  };
  return { compute, link: LINK, groupLayers: 1 };
}

describe("the access mode", () => {
  it("mixed is as good as every split on a grid, and says what its own split costs", () => {
    fc.assert(
      fc.property(anyQuestion(3), (question) => {
        const choice = choose("mixed", question);
        const staged = [...choice.stagedBytesPerLayer];
        staged.forEach((value, source) => {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(question.bytes[source]!);
        });
        const own = stepOf(question, staged);
        expect(choice.stepNs / own.stepNs).toBeCloseTo(1, 9);
        expect(choice.balanceNs / own.balanceNs).toBeCloseTo(1, 9);
        expect(Math.abs(choice.linkNs - own.linkNs)).toBeLessThanOrEqual(own.linkNs * 1e-9);
        for (const other of grid(question.bytes, 12)) {
          expect(choice.stepNs).toBeLessThanOrEqual(stepOf(question, other).stepNs * 1.001);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("mixed is as good as every split of one lender on a fine grid", () => {
    fc.assert(
      fc.property(anyQuestion(1), (question) => {
        const choice = choose("mixed", question);
        for (const other of grid(question.bytes, 400)) {
          expect(choice.stepNs).toBeLessThanOrEqual(stepOf(question, other).stepNs * 1.001);
        }
      }),
    );
  });

  it("staged stages everything and direct nothing, to the byte", () => {
    fc.assert(
      fc.property(anyQuestion(7), (question) => {
        const staged = choose("staged", question);
        expect([...staged.stagedBytesPerLayer]).toEqual(question.bytes);
        expect(staged.stepNs / stepOf(question, question.bytes).stepNs).toBeCloseTo(1, 9);
        const none = question.bytes.map(() => 0);
        const direct = choose("direct", question);
        expect([...direct.stagedBytesPerLayer]).toEqual(none);
        expect(direct.stepNs / stepOf(question, none).stepNs).toBeCloseTo(1, 9);
        const mixed = choose("mixed", question);
        expect(mixed.stepNs).toBeLessThanOrEqual(Math.min(staged.stepNs, direct.stepNs));
      }),
    );
  });

  it("reads everything directly that hides in attention", () => {
    const question = {
      ...a100Step(4e5),
      ...{ bytes: [30e6, 30e6, 30e6], runs: [20, 20, 20], rates: [276e9, 276e9, 276e9] },
    };
    // d* = attention / (1/N + 1/B) = 90.3 MB: all of it fits.
    expect([...choose("mixed", question).stagedBytesPerLayer]).toEqual([0, 0, 0]);
    // Twice as much: what is read directly is d*.
    const twice = choose("mixed", { ...question, bytes: [60e6, 60e6, 60e6] });
    const stagedBytes = twice.stagedBytesPerLayer.reduce((sum, value) => sum + value, 0);
    expect((180e6 - stagedBytes) / (4e5 / (1 / 276 + 1 / 1244))).toBeCloseTo(1, 3);
  });

  it("leaves no crumb to read directly where staging is best", () => {
    const question = {
      ...a100Step(0),
      ...{ bytes: [10e6, 0, 20e6], runs: [7, 0, 14], rates: [276e9, 0, 276e9] },
    };
    expect([...choose("mixed", question).stagedBytesPerLayer]).toEqual([10e6, 0, 20e6]);
  });

  it("stages what a paced lender holds and reads the fast one directly", () => {
    const question = {
      ...a100Step(2e5),
      ...{ bytes: [20e6, 20e6], runs: [12, 12], rates: [276e9, 25e9] },
    };
    const [fastStaged, pacedStaged] = choose("mixed", question).stagedBytesPerLayer;
    expect(fastStaged).toBe(0);
    expect(pacedStaged!).toBeGreaterThan(14e6);
  });

  it("predicts infinity where nothing may be read, the local step where nothing is remote", () => {
    expect(predictStepNs("mixed", SHORT_STEP, LINK, 1, 1000, 500, 0)).toBe(Infinity);
    expect(predictStepNs("mixed", SHORT_STEP, LINK, 1, 0, 500, 0)).toBe(55);
  });

  it("refuses bytes at a lender that may not be read", () => {
    const bytes = { bytes: [1, 0], runs: [1, 0], rates: [0, 0] };
    const question = { compute: SHORT_STEP, link: LINK, groupLayers: 1, ...bytes };
    expect(() => choose("staged", question)).toThrow("unreadable source 0");
  });
});
