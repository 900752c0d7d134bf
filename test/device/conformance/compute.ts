// What compute of any backend must do: be right within a bound, and the same bits in any batch.

import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { AssertionFailure } from "../../../src/base/index.ts";
import type { Compute, DeviceMemory } from "../../../src/device/index.ts";
import { draw, drawKv, expectClose, expectSame, slice } from "./float-checks.ts";
import { FloatStore } from "./float-store.ts";
import { batchOf, layOut, placeOf } from "./paged-kv.ts";
import {
  attentionReference,
  linearReference,
  rmsNormReference,
  ropeReference,
  swiGluReference,
} from "./reference.ts";

/** Compute of device 0 beside a peer and a host, whose memory it reads. */
export interface ComputeFixture {
  readonly compute: Compute;
  /** Device 0's own, a peer's, a host's; each written by its own holder. */
  readonly memories: readonly DeviceMemory[];
  close(): Promise<void> | void;
}

const RUNS = { numRuns: 40 };

/** @param build memories of at least 4 MiB each */
export function describeCompute(
  name: string,
  build: () => Promise<ComputeFixture> | ComputeFixture,
): void {
  describe(`compute: ${name}`, () => {
    let fixture: ComputeFixture;
    let compute: Compute;
    let stores: FloatStore[];
    let own: FloatStore;
    beforeAll(async () => {
      fixture = await build();
      compute = fixture.compute;
      stores = fixture.memories.map((memory) => new FloatStore(memory));
      own = stores[0]!;
    });
    afterAll(() => fixture.close());
    const reset = (): void => stores.forEach((store) => store.reset());
    afterEach(reset);
    const check = <T extends [unknown, ...unknown[]]>(
      arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
      law: (...values: T) => void,
    ): void => fc.assert(fc.property(...arbitraries, law).afterEach(reset), RUNS);
    const result = (address: number, count: number): Float32Array => {
      compute.finish();
      return own.get(address, count);
    };

    const linear = (x: Float32Array, matrix: Float32Array, columns: number): Float32Array => {
      const [rows, outs] = [x.length / columns, matrix.length / columns];
      const out = own.room(rows * outs);
      compute.linear(out, own.put(x), { address: own.put(matrix), rows: outs, columns }, rows);
      return result(out, rows * outs);
    };

    it("linear is right, and a row does not know its batch", () => {
      const [rows, columns, outs] = [size(9), size(70), size(21)];
      check([rows, columns, outs, seed()], (rowCount, columnCount, outCount, key) => {
        const x = draw(rowCount * columnCount, key);
        const matrix = draw(outCount * columnCount, key + 1);
        const whole = linear(x, matrix, columnCount);
        expectClose(whole, linearReference(x, matrix, rowCount, columnCount));
        for (let row = 0; row < rowCount; row++) {
          const alone = linear(slice(x, row, columnCount), matrix, columnCount);
          expectSame(alone, slice(whole, row, outCount));
        }
      });
    });

    it("linear gives an element the same bits whatever the matrix has beside it", () => {
      check([size(70), size(21), seed()], (columns, outs, key) => {
        const x = draw(3 * columns, key);
        const matrix = draw(outs * columns, key + 1);
        const whole = linear(x, matrix, columns);
        const last = linear(x, slice(matrix, outs - 1, columns), columns);
        expectSame(last, Float32Array.of(...[1, 2, 3].map((row) => whole[row * outs - 1]!)));
      });
    });

    it("rmsNorm is right in place and elsewhere, and a row does not know its batch", () => {
      check([size(5), size(70), seed()], (rows, columns, key) => {
        const x = draw(rows * columns, key);
        const weight = own.put(draw(columns, key + 1));
        const [source, out] = [own.put(x), own.room(x.length)];
        compute.rmsNorm(out, source, weight, rows, columns, 1e-5);
        const whole = result(out, x.length);
        expectClose(whole, rmsNormReference(x, draw(columns, key + 1), columns, 1e-5));
        const last = own.put(slice(x, rows - 1, columns));
        compute.rmsNorm(last, last, weight, 1, columns, 1e-5);
        compute.rmsNorm(source, source, weight, rows, columns, 1e-5);
        expectSame(result(last, columns), slice(whole, rows - 1, columns));
        expectSame(result(source, x.length), whole);
      });
    });

    it("swiGlu is right in place and elsewhere, and an element does not know its place", () => {
      check([size(70), seed()], (count, key) => {
        const [gate, up] = [draw(count, key, 12), draw(count, key + 1)];
        const [gates, ups, out] = [own.put(gate), own.put(up), own.room(count)];
        compute.swiGlu(out, gates, ups, count);
        const whole = result(out, count);
        expectClose(whole, swiGluReference(gate, up));
        const shifted = own.room(count);
        compute.swiGlu(shifted, gates + 4, ups + 4, count - 1);
        expectSame(result(shifted, count - 1), whole.subarray(1));
        compute.swiGlu(gates, gates, ups, count);
        expectSame(result(gates, count), whole);
      });
    });

    it("swiGlu of large and infinite gates is what it tends to", () => {
      const gate = Float32Array.of(1000, -1000, 88, -88, 0, Infinity);
      const out = own.room(gate.length);
      compute.swiGlu(out, own.put(gate), own.put(new Float32Array(gate.length).fill(1)), 6);
      const found = result(out, gate.length);
      expect([...found.map((value) => Math.round(value))]).toEqual([1000, -0, 88, -0, 0, Infinity]);
    });

    it("add is right to the last bit", () => {
      check([size(70), seed()], (count, key) => {
        const [x, y] = [draw(count, key), draw(count, key + 1)];
        const target = own.put(x);
        compute.add(target, own.put(y), count);
        expectSame(result(target, count), x.map((value, index) => value + y[index]!));
      });
    });

    it("rope turns pairs, and a row does not know its batch", () => {
      const pairKinds = fc.constantFrom("neighbours" as const, "halves" as const);
      check([size(4), size(3), size(8), pairKinds, seed()], (rows, heads, half, pairs, key) => {
        const headDim = 2 * half;
        const x = draw(rows * heads * headDim, key);
        const positions = Int32Array.from({ length: rows }, (_, row) => (row * 977 + key) % 5000);
        const frequencies = Float64Array.from({ length: half }, (_, pair) => 0.7 ** pair);
        const address = own.put(x);
        compute.rope(address, rows, heads, headDim, positions, frequencies, pairs, 1.25);
        const whole = result(address, x.length);
        const expected = Array.from({ length: rows * heads }, (_, head) => {
          const position = positions[Math.floor(head / heads)]!;
          return ropeReference(slice(x, head, headDim), position, frequencies, pairs, 1.25);
        });
        expectClose(whole, expected.flat());
        const last = own.put(slice(x, rows - 1, heads * headDim));
        const where = positions.subarray(rows - 1);
        compute.rope(last, 1, heads, headDim, where, frequencies, pairs, 1.25);
        const width = heads * headDim;
        expectSame(result(last, width), slice(whole, rows - 1, width));
      });
    });

    it("embed and gatherRows copy rows", () => {
      const table = draw(7 * 5, 1);
      const address = own.put(table);
      const ids = Int32Array.of(6, 0, 6, 3);
      const expected = ids.reduce<number[]>((all, id) => [...all, ...slice(table, id, 5)], []);
      const [embedded, gathered] = [own.room(20), own.room(20)];
      compute.embed(embedded, { address, rows: 7, columns: 5 }, ids);
      compute.gatherRows(gathered, address, ids, 5);
      expect([...result(embedded, 20)]).toEqual(expected);
      expect([...result(gathered, 20)]).toEqual(expected);
    });

    it("embed refuses an id beyond its table", () => {
      const table = { address: own.room(4), rows: 2, columns: 2 };
      expect(() => compute.embed(own.room(2), table, Int32Array.of(2))).toThrow(AssertionFailure);
    });

    it("writeKv puts each token where attention looks for it, and nothing else anywhere", () => {
      const shape = { heads: 2, kvHeads: 2, headDim: 3 };
      const [keys, values] = [draw(7 * 6, 1), draw(7 * 6, 2)];
      const empty = new Float32Array(keys.length);
      const expected = layOut([own], keys, values, shape, 4);
      const written = layOut([own], empty, empty, shape, 4);
      const order = [3, 0, 6, 1, 5, 2, 4];
      const tokens = order.map((position) => ({ sequence: 0, position }));
      const rowsOf = (all: Float32Array): number =>
        own.put(order.flatMap((position) => [...slice(all, position, 6)]));
      const place = placeOf(shape, 4);
      const batch = batchOf([written], tokens, 4);
      compute.writeKv(rowsOf(keys), rowsOf(values), batch, place, shape);
      const count = (2 * place.blockStrideBytes) / 4;
      const [found, wanted] = [written.sliceAddress[0]!, expected.sliceAddress[0]!];
      expectSame(result(found, count), own.get(wanted, count));
    });

    const attentionCase = fc.record({
      groups: size(3),
      kvHeads: size(3),
      headDim: size(21),
      positions: size(45),
      blockTokens: fc.constantFrom(1, 3, 4, 16),
      key: seed(),
    });

    it("attend is right", () => {
      check([attentionCase], ({ groups, kvHeads, headDim, positions, blockTokens, key }) => {
        const shape = { heads: groups * kvHeads, kvHeads, headDim };
        const [keys, values] = drawKv(positions, shape, key);
        const query = draw(shape.heads * headDim, key + 2, 3);
        const sequence = layOut(stores, keys, values, shape, blockTokens);
        const batch = batchOf([sequence], [{ sequence: 0, position: positions - 1 }], blockTokens);
        const out = own.room(query.length);
        compute.attend(out, own.put(query), batch, placeOf(shape, blockTokens), shape, 0.6);
        const expected = attentionReference(query, keys, values, shape, 0.6);
        expectClose(result(out, query.length), expected);
      });
    });

    it("attend gives a token the same bits in any batch, chunk, block size and place of KV", () => {
      check([attentionCase], ({ groups, kvHeads, headDim, positions, blockTokens, key }) => {
        const shape = { heads: groups * kvHeads, kvHeads, headDim };
        const width = shape.heads * headDim;
        const [keys, values] = drawKv(positions, shape, key);
        const [otherKeys, otherValues] = drawKv(11, shape, key + 9);
        const query = draw(positions * width, key + 2, 3);
        const chunk = Array.from({ length: positions }, (_, position) => position);
        const beside = draw(width, key + 5);
        const run = (where: FloatStore[], tokens: number, wanted: number[], isBeside: boolean) => {
          reset();
          const other = layOut([own], otherKeys, otherValues, shape, tokens);
          const sequence = layOut(where, keys, values, shape, tokens);
          const list = wanted.map((position) => ({ sequence: 1, position }));
          if (isBeside) list.splice(1, 0, { sequence: 0, position: 10 });
          const rows = list.map((token) =>
            token.sequence === 1 ? slice(query, token.position, width) : beside,
          );
          const address = own.put(rows.flatMap((row) => [...row]));
          const batch = batchOf([other, sequence], list, tokens);
          const out = own.room(rows.length * width);
          compute.attend(out, address, batch, placeOf(shape, tokens), shape, 0.6);
          const whole = result(out, rows.length * width);
          if (isBeside) {
            const expected = attentionReference(beside, otherKeys, otherValues, shape, 0.6);
            expectClose(slice(whole, 1, width), expected);
          }
          return list.flatMap((token, row) =>
            token.sequence === 1 ? [slice(whole, row, width)] : [],
          );
        };
        const together = run([own], blockTokens, chunk, false);
        const variants = [
          run([own], blockTokens, chunk.toReversed(), true).toReversed(),
          run([stores[1]!], blockTokens, chunk, true),
          run([stores[2]!, own, stores[1]!], blockTokens, chunk, false),
          run([own], 5, chunk, false),
          chunk.map((position) => run([stores[1]!, own], blockTokens, [position], true)[0]!),
        ];
        for (const variant of variants) {
          variant.forEach((row, position) => expectSame(row, together[position]!));
        }
      });
    });
  });
}

function size(max: number): fc.Arbitrary<number> {
  return fc.integer({ min: 1, max });
}

function seed(): fc.Arbitrary<number> {
  return fc.nat(1e6);
}
