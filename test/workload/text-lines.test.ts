/** Tests of the line reader: line ends, the last line, and memory for what is not a line. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { readLines } from "../../src/workload/text-lines.ts";

const folder = mkdtempSync(join(tmpdir(), "ema-lines-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const linesOf = (text: string): string[] => {
  const path = join(folder, "lines.txt");
  writeFileSync(path, text);
  return [...readLines(path)];
};

it("takes LF and CRLF, with and without an end of the last line", () => {
  expect(linesOf("a\r\nb\n\r\n\nc\r")).toEqual(["a", "b", "", "", "c"]);
  expect(linesOf("a\n")).toEqual(["a"]);
  expect(linesOf("\n")).toEqual([""]);
  expect(linesOf("\uFEFF")).toEqual([]);
  expect(linesOf("")).toEqual([]);
});

it("is what splitting the text gives, wherever chunks end", () => {
  const piece = fc.constantFrom("a", "é", "\u{1F600}", "\n", "\r\n", " ");
  const property = fc.property(fc.array(piece, { maxLength: 60 }), fc.nat(40), (pieces, shift) => {
    // Pushes the pieces across the border of the first chunk, byte by byte.
    const text = "x".repeat((1 << 18) - 20 - shift) + pieces.join("");
    const expected = text.split(/\r?\n/);
    if (expected.at(-1) === "") expected.pop();
    expect(linesOf(text)).toEqual(expected);
  });
  fc.assert(property, { numRuns: 60 });
});
