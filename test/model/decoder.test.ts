/** The decoder against float64, and against itself in every cut and mix of its work. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPlainDevices } from "../../src/device/index.ts";
import { Decoder, kvBytesPerToken, modelShapeOf, type ModelConfig } from "../../src/model/index.ts";
import { randomWeights } from "../../src/model/random-checkpoint.ts";
import { Decoding, type Chunk } from "./decoding.ts";
import { referenceLogits } from "./reference-decoder.ts";
import { anyConfig, smallConfig } from "./small-models.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 40 });
const lengths = fc.integer({ min: 1, max: 24 });
const blockSizes = fc.constantFrom(1, 2, 3, 4, 8, 16);

/** Bits and not numbers: 0 and -0 differ. */
function bitsOf(rows: readonly Float32Array[]): string {
  const bytes = rows.map((row) => Buffer.from(row.buffer, row.byteOffset, row.byteLength));
  return Buffer.concat(bytes).toString("base64");
}

function idsFor(config: ModelConfig, seed: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => (seed + at * 7919 + at * at * 31) % config.vocab);
}

describe("against float64", () => {
  it("logits are within 1e-4 for every shape, across blocks", () => {
    fc.assert(
      fc.property(anyConfig, seeds, lengths, blockSizes, (config, seed, count, blockTokens) => {
        const weights = randomWeights(config, seed);
        const ids = idsFor(config, seed, count);
        const sizes = { sequences: 1, contextTokens: 24, batchTokensMax: 24, blockTokens };
        const decoding = new Decoding(config, weights, sizes);
        const found = decoding.step([{ sequence: 0, first: 0, ids }]);
        const wanted = referenceLogits(config, weights, ids);
        const errors = found.map((logits, token) =>
          Math.max(...logits.map((logit, id) => Math.abs(logit - wanted[token]![id]!))),
        );
        expect(Math.max(...errors)).toBeLessThanOrEqual(1e-4);
      }),
      { numRuns: 150 },
    );
  });
});

describe("against itself", () => {
  /** Cuts each sequence's tokens into chunks and deals chunks of several sequences into steps. */
  const plans = fc.record({
    counts: fc.array(lengths, { minLength: 1, maxLength: 4 }),
    cuts: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 12 }),
    mixes: fc.array(fc.nat(7), { minLength: 1, maxLength: 12 }),
    blockTokens: blockSizes,
    groupLayers: fc.integer({ min: 1, max: 3 }),
  });

  it("any chunks and mix of sequences give the same bits", () => {
    fc.assert(
      fc.property(anyConfig, seeds, plans, (config, seed, plan) => {
        const weights = randomWeights(config, seed);
        const { counts, blockTokens, groupLayers } = plan;
        const sizes = {
          sequences: counts.length,
          contextTokens: 24,
          batchTokensMax: 24 * counts.length,
          blockTokens,
        };
        const ids = counts.map((count, at) => idsFor(config, seed + at, count));
        const alone = new Decoding(config, weights, sizes);
        const wanted = ids.map((each, sequence) => alone.step([{ sequence, first: 0, ids: each }]));
        const mixed = new Decoding(config, weights, sizes);
        const done = counts.map(() => 0);
        for (let step = 0; done.some((count, at) => count < counts[at]!); step++) {
          const chunks = chunksOf(plan, ids, done, step);
          const logits = mixed.step(chunks, groupLayers);
          const same = chunks.flatMap(({ sequence, first, ids: part }) =>
            part.map((_, at) => wanted[sequence]![first + at]!),
          );
          expect(bitsOf(logits)).toEqual(bitsOf(same));
          for (const { sequence, first, ids: part } of chunks) done[sequence] = first + part.length;
        }
      }),
      { numRuns: 100 },
    );
  });

  function chunksOf(
    plan: { readonly cuts: readonly number[]; readonly mixes: readonly number[] },
    ids: readonly number[][],
    done: readonly number[],
    step: number,
  ): Chunk[] {
    const mix = plan.mixes[step % plan.mixes.length]!;
    const open = ids.map((_, sequence) => sequence).filter((at) => done[at]! < ids[at]!.length);
    // Some are left out of a step; one never is.
    const isChosen = (at: number, rank: number): boolean =>
      rank === mix % open.length || (mix >> at % 3) % 2 === 1;
    const chosen = open.filter(isChosen);
    return chosen.map((sequence) => {
      const first = done[sequence]!;
      const size = plan.cuts[(step + sequence) % plan.cuts.length]!;
      return { sequence, first, ids: ids[sequence]!.slice(first, first + size) };
    });
  }
});

describe("memory", () => {
  const config = smallConfig();
  const limits = { batchTokensMax: 4, sampleRowsMax: 2 };

  it("a device that is too small is told with the bytes, and keeps all of them", () => {
    const [device] = createPlainDevices([65_536]);
    const free = device!.memory.freeBytes;
    const large = smallConfig({ vocab: 4000 });
    const make = (): Decoder =>
      new Decoder({ config: large, ...device!, limits }, randomWeights(large, 1));
    expect(make).toThrow(/do not fit: 65\.5 kB of the device are free/);
    expect(device!.memory.freeBytes).toBe(free);
  });

  it("weights that cannot be read leave nothing behind", () => {
    const [device] = createPlainDevices([1 << 20]);
    const free = device!.memory.freeBytes;
    const weights = {
      read: (): void => {
        throw new Error("gone");
      },
      close: (): void => undefined,
    };
    expect(() => new Decoder({ config, ...device!, limits }, weights)).toThrow("gone");
    expect(device!.memory.freeBytes).toBe(free);
    const decoder = new Decoder({ config, ...device!, limits }, randomWeights(config, 1));
    expect(device!.memory.freeBytes).toBeLessThan(free);
    decoder.free();
    expect(device!.memory.freeBytes).toBe(free);
  });

  it("sizes count 4-byte floats", () => {
    expect(kvBytesPerToken(config)).toBe(2 * 2 * 2 * 4 * 4);
    const shape = modelShapeOf(config, "small");
    expect(shape.weightBytes).toBe(4 * shape.paramCount);
    expect(shape.paramCount).toBe(
      2 * 40 * 16 + 16 + 2 * (2 * 16 + 16 * 16 * 2 + 8 * 16 * 2 + 3 * 16 * 24),
    );
  });
});

it("layers out of order, and steps cut short, are bugs", () => {
  const config = smallConfig();
  const [device] = createPlainDevices([1 << 20]);
  const limits = { batchTokensMax: 4, sampleRowsMax: 1 };
  const decoder = new Decoder({ config, ...device!, limits }, randomWeights(config, 1));
  const batch = {
    tokenCount: 1,
    sequenceOfToken: Int32Array.of(0),
    positionOfToken: Int32Array.of(0),
    firstBlock: Int32Array.of(0, 1),
    sliceAddress: Float64Array.of(device!.memory.allocate(4096)!),
    indexInSlice: Int32Array.of(0),
    blockTokens: 4,
  };
  const place = { blockStrideBytes: 2048, layerOffsetBytes: 0 };
  decoder.begin(Int32Array.of(1), batch);
  expect(() => decoder.runLayers(1, 1, batch, () => place)).toThrow(/layer 1 after 0/);
  decoder.runLayers(0, 1, batch, () => place);
  expect(() => decoder.finish(Int32Array.of(0))).toThrow(/after 1 layers/);
  expect(() => decoder.runLayers(1, 2, batch, () => place)).toThrow(/layers to 3/);
});
