/** The random model is one model: whatever the order of reading, and its tokenizer is bytes. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { randomCheckpoint } from "../../src/model/index.ts";
import { tensorsOf } from "../../src/model/tensors.ts";
import { smallConfig } from "./small-models.ts";

const config = smallConfig({ vocab: 300 });

it("any piece of a tensor is that piece of the whole", () => {
  const { weights } = randomCheckpoint(config, 11);
  const tensors = tensorsOf(config);
  fc.assert(
    fc.property(fc.nat(tensors.length - 1), fc.nat(), fc.nat(), (pick, a, b) => {
      const tensor = tensors[pick]!;
      const whole = new Float32Array(tensor.rows * tensor.columns);
      weights.read(tensor, 0, whole);
      const first = a % whole.length;
      const piece = new Float32Array(b % (whole.length - first));
      weights.read(tensor, first, piece);
      expect(piece).toEqual(whole.slice(first, first + piece.length));
    }),
  );
});

it("tensors and seeds differ, and numbers have the deviation that is promised", () => {
  const [embedding] = tensorsOf(config);
  const read = (seed: number): Float32Array => {
    const numbers = new Float32Array(embedding!.rows * embedding!.columns);
    randomCheckpoint(config, seed).weights.read(embedding!, 0, numbers);
    return numbers;
  };
  const [one, two, far] = [read(1), read(2), read(1 + 2 ** 32)];
  expect(one).not.toEqual(two);
  expect(one).not.toEqual(far);
  expect(read(1)).toEqual(one);
  const square = one.reduce((sum, number) => sum + number * number, 0) / one.length;
  // 4800 uniform numbers: five deviations of their mean square are 6.5 % of it.
  expect(Math.abs(square * embedding!.columns - 1)).toBeLessThan(0.065);
});

it("its tokens are bytes, begin and end", () => {
  const { tokenizer, name } = randomCheckpoint(config, 1);
  expect(name).toBe("random-1");
  const ids = tokenizer.encode("é好\n", true);
  expect([...ids]).toEqual([...Buffer.from("é好\n")]);
  expect(tokenizer.decode(Int32Array.of(256, ...ids, 257, 299))).toBe("é好\n");
  expect([tokenizer.beginId, ...tokenizer.endIds]).toEqual([256, 257]);
  expect(() => randomCheckpoint(smallConfig({ vocab: 257 }), 1)).toThrow(/no room for bytes/);
});
