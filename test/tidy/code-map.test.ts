/** Tests of the code map: which sentence it takes, how it is ordered, what it replaces. */

import { expect, it } from "vitest";

import { codeMap, firstSentence, withCodeMap } from "../../tools/tidy-code-map.ts";

it.each([
  ["/**\n * The ledger.\n *\n * Called by x.\n */", "The ledger."],
  ["/**\n * As config.json\n * has it. More.\n */", "As config.json has it."],
  ["/** One line: as an index has. */\nimport x;", "One line: as an index has."],
  ["#!/usr/bin/env node\n/**\n * The program.\n */", "The program."],
  ["import x;", ""],
])("takes the first sentence of %j", (text, sentence) => {
  expect(firstSentence(text)).toBe(sentence);
});

it("lists files below their layers, the index as the layer's own line", () => {
  const files = [
    { path: "src/pool/ledger.ts", text: "/**\n * Who owns a slice.\n */" },
    { path: "src/base/units.ts", text: "/**\n * Sizes.\n */" },
    { path: "src/pool/index.ts", text: "/** The pool. */" },
  ];
  expect(codeMap(files)).toBe(
    [
      "### `src/base`\n\n- `src/base/units.ts`: Sizes.\n",
      "### `src/pool`\n\nThe pool.\n\n- `src/pool/ledger.ts`: Who owns a slice.\n",
    ].join("\n"),
  );
});

it("replaces what stands between the marks, and nothing without them", () => {
  const begin = "<!-- code map: written by tools/tidy-code-map.ts -->";
  const end = "<!-- end of code map -->";
  const document = `a\n${begin}\nold\n${end}\nb\n`;
  expect(withCodeMap(document, "new\n")).toBe(`a\n${begin}\n\nnew\n\n${end}\nb\n`);
  expect(withCodeMap("a", "new")).toBeNull();
});
