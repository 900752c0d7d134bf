/** Tests of sorting, gaps, shifts and merges: every request is kept, only its time may change. */

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  delay,
  mergeTables,
  rescaleGaps,
  rotate,
  tableFromColumns,
  type RequestTable,
} from "../../src/workload/index.ts";

type Row = readonly [number, number, number];
const tableOf = (rows: readonly Row[]): RequestTable =>
  tableFromColumns(
    rows.map(([arrivalNs]) => arrivalNs),
    rows.map(([, promptTokens]) => promptTokens),
    rows.map(([, , outputTokens]) => outputTokens),
  );
const rowsOf = (table: RequestTable): Row[] =>
  Array.from({ length: table.count }, (_, row) => [
    table.arrivalNs[row]!,
    table.promptTokens[row]!,
    table.outputTokens[row]!,
  ]);
const arrivals = (table: RequestTable): number[] => [...table.arrivalNs];
const bodies = (table: RequestTable): string[] =>
  rowsOf(table)
    .map(([, prompt, output]) => `${prompt}/${output}`)
    .toSorted();

// Few different arrivals, so that most are ties.
const row = fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }));
const rows = fc.array(row, { maxLength: 40 });

it("a table does not depend on the order of its rows", () => {
  const property = fc.property(rows, fc.nat(), (list, seed) => {
    const shuffled = list
      .map((item, index) => ({ item, key: Math.imul(index + 1, seed * 2 + 2654435761) >>> 0 }))
      .toSorted((one, other) => one.key - other.key)
      .map(({ item }) => item);
    const table = tableOf(list);
    expect(rowsOf(tableOf(shuffled))).toEqual(rowsOf(table));
    expect(arrivals(table)).toEqual(arrivals(table).toSorted((one, other) => one - other));
    expect(rowsOf(table).map(String).toSorted()).toEqual(list.map(String).toSorted());
  });
  fc.assert(property);
});

it("equal arrivals are not served shortest first", () => {
  const table = tableOf(Array.from({ length: 100 }, (_, index) => [0, index + 1, 7]));
  const rises = [...table.promptTokens].filter((tokens, index, all) => tokens > all[index - 1]!);
  expect(rises.length).toBeGreaterThan(30);
  expect(rises.length).toBeLessThan(70);
});

it("rescaling divides gaps and keeps all requests", () => {
  const table = tableOf([
    [0, 1, 1],
    [10, 2, 2],
    [31, 3, 3],
  ]);
  expect(arrivals(rescaleGaps(table, 0.5))).toEqual([0, 20, 62]);
  expect(arrivals(rescaleGaps(table, 2))).toEqual([0, 5, 16]);
  expect(rescaleGaps(table, 1)).toBe(table);
  expect(() => rescaleGaps(table, 0)).toThrow("rateScale 0");
});

it("rotation wraps at the span", () => {
  const table = tableOf([
    [0, 1, 1],
    [60, 2, 2],
    [100, 3, 3],
  ]);
  expect(rowsOf(rotate(table, 50, 100)).map(([at, prompt]) => [at, prompt])).toEqual([
    [10, 2],
    [50, expect.any(Number)],
    [50, expect.any(Number)],
  ]);
  expect(rotate(table, 0, 100)).toBe(table);
  expect(arrivals(rotate(table, 250, 100))).toEqual(arrivals(rotate(table, 50, 100)));
  expect(arrivals(rotate(tableOf([[0, 1, 1]]), 50, 0))).toEqual([0]);
});

it("rotation keeps requests, order and the span; delay and merge keep requests", () => {
  const property = fc.property(rows, rows, fc.nat(50), (one, other, offsetNs) => {
    const table = tableOf(one);
    const rotated = rotate(table, offsetNs, 20);
    expect(bodies(rotated)).toEqual(bodies(table));
    expect(arrivals(rotated)).toEqual(arrivals(rotated).toSorted((a, b) => a - b));
    for (const arrivalNs of rotated.arrivalNs) expect(arrivalNs).toBeLessThanOrEqual(20);
    expect(arrivals(delay(table, offsetNs))).toEqual(arrivals(table).map((at) => at + offsetNs));
    const merged = mergeTables([table, tableOf(other)]);
    expect(rowsOf(merged)).toEqual(rowsOf(tableOf([...one, ...other])));
  });
  fc.assert(property);
});
