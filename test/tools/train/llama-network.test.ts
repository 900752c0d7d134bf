/** Tests of the network that is trained: gradients against differences, and that it learns. */

import { describe, expect, it } from "vitest";

import { Prng } from "../../../src/base/prng.ts";
import { compileKernels, Workbench } from "../../../tools/train/kernels.ts";
import { LlamaNetwork } from "../../../tools/train/llama-network.ts";
import {
  initialParameters,
  type LlamaShape,
  parameterCount,
  tensorPlaces,
} from "../../../tools/train/llama-shape.ts";

const module = await compileKernels();

const shape: LlamaShape = {
  vocabulary: 24,
  width: 16,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headWidth: 8,
  feedForward: 24,
  ropeBase: 10_000,
  epsilon: 1e-5,
  context: 16,
};
const length = 12;
const rows = 2 * length;

function makeNetwork(seed: number) {
  const bench = new Workbench(module);
  const network = new LlamaNetwork(bench, shape, rows);
  network.setLength(length);
  const prng = new Prng(seed);
  const parameters = bench.floats(network.parameters, parameterCount(shape));
  parameters.set(initialParameters(shape, prng));
  // A larger embedding and uneven norms, so that every path carries a gradient worth comparing.
  for (const place of tensorPlaces(shape)) {
    for (let index = place.offset; index < place.offset + place.count; index++) {
      if (place.shape.length === 1) parameters[index]! += 0.3 * prng.nextNormal();
      if (place.name === "token_embd.weight") parameters[index]! *= 20;
    }
  }
  const tokens = Int32Array.from({ length: rows }, () => prng.nextBelow(shape.vocabulary));
  const targets = Int32Array.from({ length: rows }, () => prng.nextBelow(shape.vocabulary));
  const weights = Float32Array.from({ length: rows }, (_, row) => (row % 5 === 0 ? 0 : 1 / rows));
  const loss = (): number => {
    network.forward(tokens);
    return network.backward(targets, weights);
  };
  return { bench, network, parameters, loss, tokens };
}

describe("gradients", () => {
  it.each(tensorPlaces(shape).map(({ name }) => name))("of %s are the differences", (name) => {
    const { bench, network, parameters, loss } = makeNetwork(3);
    const gradients = bench.floats(network.gradients, parameterCount(shape));
    loss();
    const place = tensorPlaces(shape).find((candidate) => candidate.name === name)!;
    const analytic = gradients.slice(place.offset, place.offset + place.count);
    // Along a direction instead of element by element: single precision drowns a single element.
    const prng = new Prng(place.offset + 1);
    for (let trial = 0; trial < 4; trial++) {
      const direction = Float32Array.from(analytic, () => prng.nextNormal());
      let expected = 0;
      for (const [index, value] of analytic.entries()) expected += value * direction[index]!;
      const step = 2e-3;
      const before = parameters.slice();
      const lossAt = (factor: number): number => {
        for (const [index, value] of direction.entries()) {
          parameters[place.offset + index] = before[place.offset + index]! + factor * value;
        }
        return loss();
      };
      const difference = (lossAt(step) - lossAt(-step)) / (2 * step);
      parameters.set(before);
      const norm = Math.sqrt(analytic.reduce((sum, value) => sum + value * value, 0));
      expect(norm).toBeGreaterThan(1e-4);
      expect(Math.abs(difference - expected)).toBeLessThan(0.02 * norm + 2e-4);
    }
  });

  it("are added up, so that a step may be made of several batches", () => {
    const { bench, network, loss } = makeNetwork(4);
    const gradients = bench.floats(network.gradients, parameterCount(shape));
    loss();
    const once = gradients.slice();
    loss();
    for (const [index, value] of gradients.entries()) {
      expect(value).toBeCloseTo(2 * once[index]!, 5);
    }
  });
});

it("a position does not see what follows it, nor another sequence", () => {
  const { bench, network, tokens } = makeNetwork(5);
  const read = () => bench.floats(network.logits, rows * shape.vocabulary).slice();
  network.forward(tokens);
  const before = read();
  const changed = tokens.slice();
  changed[length - 3] = (tokens[length - 3]! + 1) % shape.vocabulary;
  network.forward(changed);
  const after = read();
  const isSame = (row: number): boolean =>
    Array.from({ length: shape.vocabulary }, (_, id) => row * shape.vocabulary + id).every(
      (index) => before[index] === after[index],
    );
  for (let row = 0; row < rows; row++) {
    expect(isSame(row)).toBe(row < length - 3 || row >= length);
  }
});

it("learns one batch by heart", () => {
  const { bench, network, loss } = makeNetwork(6);
  const count = parameterCount(shape);
  const [first, second] = [bench.take(count), bench.take(count)];
  const { kernels } = bench;
  const start = loss();
  let last = start;
  for (let step = 1; step <= 120; step++) {
    const [c1, c2] = [1 / (1 - 0.9 ** step), 1 / (1 - 0.99 ** step)];
    const { parameters, gradients } = network;
    // prettier-ignore
    kernels.adamw(
      parameters, gradients, first, second, count, 0.01, 0.9, 0.99, c1, c2, 1e-8, 0,
    );
    kernels.fill(gradients, count, 0);
    last = loss();
  }
  expect(start).toBeGreaterThan(2);
  expect(last).toBeLessThan(0.05);
});
