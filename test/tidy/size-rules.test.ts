/** Tests of the size rules: planted long files, functions and lines, and a stale exception. */

import { describe, expect, it } from "vitest";

import { checkSizes, functionsOf } from "./size-rules.ts";

const body = (lines: number) => Array.from({ length: lines }, (_, n) => `  f(${n});`).join("\n");
const file = (text: string, path = "src/pool/a.ts") => ({ path, text });

describe("functions", () => {
  it.each([
    ["a declaration", "function named(a: number) {", "}", "named"],
    ["one with a return type", "export function named(): number | null {", "}", "named"],
    ["one that returns an object type", "function named(): { a: number } | null {", "}", "named"],
    ["one over several lines", "function named(\n  a: number,\n): void {", "}", "named"],
    ["a generic one", "function named<T extends Map<string, number>>(a: T): T {", "}", "named"],
    ["a guard", "function named(a: unknown): asserts a is string {", "}", "named"],
    ["a method", "class A {\n  named(): void {", "}\n}", "named"],
    ["a private method", "class A {\n  #named(): void {", "}\n}", "#named"],
    ["a getter", "class A {\n  get named(): number {", "}\n}", "named"],
    ["an arrow", "const named = (a: number): void => {", "};", "named"],
    ["an arrow of one name", "const named = a => {", "};", "named"],
    ["a callback", "list.forEach((a) => {", "});", "=>"],
  ])("are found: %s", (_what, head, tail, name) => {
    const spans = functionsOf(file(`${head}\n${body(3)}\n${tail}`));
    expect(spans.map((span) => span.name)).toEqual([name]);
    expect(spans[0]!.lines).toBeGreaterThanOrEqual(5);
  });

  it.each([
    ["a condition", "if (a) {\n}"],
    ["a loop", "for (const a of list()) {\n}"],
    ["a switch", 'switch (a) {\n  case f("x"): {\n  }\n}'],
    ["an object", "const a = { b: f(1), c: {} };"],
    ["a class", "class A extends B {\n}"],
    ["an interface", "interface A {\n  f(): void;\n}"],
    ["a block without a head", "do {\n} while (a);\ntry {\n} finally {\n}"],
    ["braces in text", "const a = '() => {';"],
  ])("are not seen in %s", (_what, text) => {
    expect(functionsOf(file(text))).toEqual([]);
  });

  it("end where they end: a class behind one is not part of it", () => {
    const text = "function short(): void {\n  f();\n}\n\nclass A {\n  b = 1;\n}\n";
    expect(functionsOf(file(text))).toEqual([{ name: "short", line: 1, lines: 3 }]);
  });

  it("of 70 lines pass and of 71 do not", () => {
    const withLines = (lines: number) => `function long() {\n${body(lines - 2)}\n}\n`;
    expect(checkSizes([file(withLines(70))])).toEqual([]);
    expect(checkSizes([file(withLines(71))])).toEqual([
      "src/pool/a.ts:1: long has 71 lines, at most 70",
    ]);
  });

  it("in tests may be long: a suite is one function", () => {
    expect(checkSizes([file(`f(() => {\n${body(90)}\n});`, "test/pool/a.test.ts")])).toEqual([]);
  });
});

describe("files and lines", () => {
  it("of 300 lines pass and of 301 do not", () => {
    expect(checkSizes([file("a;\n".repeat(300))])).toEqual([]);
    expect(checkSizes([file("a;\n".repeat(301))])).toEqual([
      "src/pool/a.ts: 301 lines, at most 300",
    ]);
  });

  it("of 100 columns pass and of 101 do not", () => {
    expect(checkSizes([file(`\n${"a".repeat(100)}`)])).toEqual([]);
    expect(checkSizes([file(`\n${"a".repeat(101)}`)])).toHaveLength(1);
  });
});

describe("exceptions", () => {
  const exception = { subject: "src/pool/a.ts", reason: "one table" };

  it("are tolerated while they are needed", () => {
    expect(checkSizes([file("a;\n".repeat(301))], [exception])).toEqual([]);
  });

  it("are findings once they are not", () => {
    expect(checkSizes([file("a;\n")], [exception])).toHaveLength(1);
  });
});
