/** Tests of the document rules: paths that are gone, codes without advice, rows without a code. */

import { describe, expect, it } from "vitest";

import { checkDocPaths, checkErrorCodes, checkReferences } from "./doc-rules.ts";

describe("paths", () => {
  const paths = ["src/pool/ledger.ts", "docs/adr/0001-a.md", "README.md"];
  const check = (text: string, path = "docs/A.md") => checkDocPaths([{ path, text }], paths);

  it.each(["`src/pool/ledger.ts`", "`src/pool/`", "[a](adr/0001-a.md)", "[a](../README.md)"])(
    "that exist pass: %s",
    (text) => {
      expect(check(text)).toEqual([]);
    },
  );

  it.each([
    "`src/pool/gone.ts`",
    "`src/gone/`",
    "`elsewhere/gone.yaml`",
    "[a](adr/0002-gone.md)",
    '<img src="gone.svg">',
  ])("that do not exist are found: %s", (text) => {
    const findings = check(`one\n${text}`);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toContain("docs/A.md:2:");
  });

  it.each(["`tokens/s`", "`1/8`", "`../shared/data`", "`src/*/index.ts`", "`dist/cli/main.js`"])(
    "are not seen in %s",
    (text) => {
      expect(check(text)).toEqual([]);
    },
  );

  it("are not looked up on the network", () => {
    expect(check("[a](https://example.org/gone.md)")).toEqual([]);
  });

  it("in headers of source files are documents alone", () => {
    expect(check("/** See docs/GONE.md. */", "src/pool/a.ts")).toHaveLength(1);
    expect(check("/** See docs/adr/0001-a.md, `src/gone.ts`. */", "src/pool/a.ts")).toEqual([]);
  });
});

describe("references", () => {
  it("to notes that readers do not have are found", () => {
    const text = "/**\n * As FIELD, section 3, and DESIGN.md say.\n */";
    expect(checkReferences([{ path: "src/pool/a.ts", text }])).toHaveLength(2);
  });

  it("to the word in its own sense are none", () => {
    const text = "a field, the design, FIELDS, a contract, docs/METHOD.md";
    expect(checkReferences([{ path: "src/pool/a.ts", text }])).toEqual([]);
  });
});

describe("error codes", () => {
  const source = { path: "errors.ts", text: 'export type ErrorCode =\n | "E_A"\n | "E_B";' };
  const check = (text: string) => checkErrorCodes(source, { path: "docs/ERRORS.md", text });
  const rowA = "| `E_A` | when | Check the path and try again. |\n";

  it("with a row each pass", () => {
    expect(check(`${rowA}| \`E_B\` | when | Write a number above zero. |\n`)).toEqual([]);
  });

  it("without a row, without advice or without a code are found", () => {
    expect(check(rowA)).toEqual(["docs/ERRORS.md: E_B has no row"]);
    expect(check(`${rowA}| \`E_B\` | when | - |\n`)).toHaveLength(1);
    expect(check(`${rowA}| E_B | a | Write a number. |\n| E_C | a | Write a name. |\n`)).toEqual([
      "docs/ERRORS.md: E_B has no sentence that says what to do",
      "docs/ERRORS.md: E_C is not in the union",
    ]);
  });

  it("are looked for at all", () => {
    const empty = { path: "errors.ts", text: "" };
    expect(checkErrorCodes(empty, empty)).toHaveLength(1);
  });
});
