/** Tests of the text rules: each must find the fault planted for it and pass the clean sample. */

import { describe, expect, it } from "vitest";

import { checkCalls, checkHeaders, checkNames, checkTestFiles, checkWords } from "./rules.ts";

const one = (path: string, text = "") => [{ path, text }];

describe("headers", () => {
  const header = "/**\n * What it is.\n *\n * Who calls it.\n */\n";

  it("of two lines pass, also in line comments and behind a shebang", () => {
    expect(checkHeaders(one("src/pool/a.ts", `${header}import x;`))).toEqual([]);
    expect(checkHeaders(one("tools/a.ts", "// What it is.\n// Who calls it.\n"))).toEqual([]);
    expect(checkHeaders(one("src/cli/main.ts", `#!/usr/bin/env node\n${header}`))).toEqual([]);
  });

  it("of one line pass for an index.ts and a test alone", () => {
    expect(checkHeaders(one("src/pool/index.ts", "/** The pool. */\n"))).toEqual([]);
    expect(checkHeaders(one("test/pool/a.test.ts", "/** Tests of a. */\n"))).toEqual([]);
    expect(checkHeaders(one("src/pool/a.ts", "/** The pool. */\n"))).toHaveLength(1);
  });

  it("that are missing, empty or late are found", () => {
    expect(checkHeaders(one("src/pool/a.ts", "export const a = 1;"))).toHaveLength(1);
    expect(checkHeaders(one("src/pool/a.ts", "/**\n *\n */\n"))).toHaveLength(1);
    expect(checkHeaders(one("src/pool/a.ts", `import x from "y";\n${header}`))).toHaveLength(1);
  });
});

describe("calls", () => {
  it.each([
    "Date.now()",
    "new Date()",
    "performance.now()",
    "Math.random()",
    "setTimeout(f, 1)",
    "setInterval(f, 1)",
    "setImmediate(f)",
    "queueMicrotask(f)",
    "process.env",
    "console.log()",
    "async () => 1",
    "await f()",
    "new Promise(f)",
  ])("ban %s in the core", (call) => {
    expect(checkCalls(one("src/engine/a.ts", `\nconst a = ${call};`))).toHaveLength(1);
  });

  it("ban clock, chance and environment elsewhere, but not in cli", () => {
    const text = "Date.now(); Math.random(); process.env; console.log();";
    expect(checkCalls(one("src/sim/a.ts", text))).toHaveLength(3);
    expect(checkCalls(one("src/cli/a.ts", text))).toEqual([]);
  });

  it("do not judge comments, strings and longer names", () => {
    const text = "// Date.now()\nconst a = 'await'; isAsync(); preprocess.run();";
    expect(checkCalls(one("src/engine/a.ts", text))).toEqual([]);
  });
});

describe("names", () => {
  it("of drawers are found in files and folders", () => {
    const paths = ["src/pool/utils.ts", "src/pool/slice-manager.ts", "src/common/a.ts"];
    for (const path of paths) expect(checkNames(one(path))).toHaveLength(1);
    expect(checkNames(one("src/pool/slice-table.ts"))).toEqual([]);
    expect(checkNames(one("src/pool/commonality.ts"))).toEqual([]);
  });
});

describe("words", () => {
  it("find paths of one machine", () => {
    for (const folder of ["work", "tmp", "home/someone"]) {
      expect(checkWords(one("README.md", `see ${"/" + folder}/x`))).toHaveLength(1);
    }
  });

  it("find who typed the text", () => {
    expect(checkWords(one("docs/a.md", "written by a sub" + "agent"))).toHaveLength(1);
  });

  it("let paths of every machine and addresses pass", () => {
    const text = "/usr/bin/env, src/work/a.ts, https://example.org/home/a/b, my-tmp/a";
    expect(checkWords(one("README.md", text))).toEqual([]);
  });
});

describe("test files", () => {
  const test = { path: "test/pool/a.test.ts", text: 'import { m } from "./model.ts";' };

  it("pass when run, imported by one that is, or data", () => {
    const model = { path: "test/pool/model.ts", text: "" };
    const data = { path: "test/pool/fixtures/a.csv", text: "" };
    expect(checkTestFiles([test, model, data])).toEqual([]);
  });

  it("are found when a misspelt name would leave them out", () => {
    expect(checkTestFiles([test, ...one("test/pool/b.tests.ts")])).toHaveLength(1);
  });
});
