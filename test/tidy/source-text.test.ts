/** Tests of the mask that every tidy rule reads through: what is blanked and what is kept. */

import { expect, it } from "vitest";

import { lineAt, maskCode } from "./source-text.ts";
import { listTree, readFiles } from "./tree.ts";

it.each([
  ["a line comment", "a; // b {\nc", "a;       \nc"],
  ["a block comment over lines", "a /* {\n} */ b", "a     \n     b"],
  ["a string, quotes kept", 'f("{");', 'f(" ");'],
  ["an escaped quote", 'f("\\"{");', 'f("   ");'],
  ["a template, code inside kept", "`a{${b({})}c}`;", "     b({})    ;"],
  ["nested templates", "`${`{${x}`}`;", "       x    ;"],
  ["a regular expression", "x = /[/{]/g;", "x =       g;"],
  ["a division, twice", "a / b / c {", "a / b / c {"],
  ["a division behind an assertion", "(a[1]! / (b! / c))", "(a[1]! / (b! / c))"],
  ["a negated regular expression", "if (!/[(]/.test(a)) b", "if (!     .test(a)) b"],
  ["no comment inside a string", 'f("//") + g', 'f("  ") + g'],
])("masks %s", (_what, text, masked) => {
  expect(maskCode(text)).toBe(masked);
});

it("keeps the length and the line breaks of its own source", () => {
  const text = maskCode.toString();
  expect(maskCode(text)).toHaveLength(text.length);
});

it("leaves every bracket of the tree with its partner, so nothing was misread", () => {
  const files = readFiles(listTree().filter((path) => path.endsWith(".ts")));
  const openers: Record<string, string> = { ")": "(", "]": "[", "}": "{" };
  for (const { path, text } of files) {
    const open: string[] = [];
    for (const [bracket] of maskCode(text).matchAll(/[()[\]{}]/g)) {
      if (openers[bracket] === undefined) open.push(bracket);
      else expect(open.pop(), path).toBe(openers[bracket]);
    }
    expect(open, path).toEqual([]);
  }
});

it("counts lines from one", () => {
  expect(["a\nb\nc"].map((text) => [0, 2, 4].map((offset) => lineAt(text, offset)))).toEqual([
    [1, 2, 3],
  ]);
});
