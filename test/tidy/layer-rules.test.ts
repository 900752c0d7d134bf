/** Tests of the layer rules: each must find the fault planted for it and pass the clean sample. */

import { describe, expect, it } from "vitest";

import { checkCycles, checkLayers, importsOf } from "./layer-rules.ts";

const one = (path: string, text: string) => [{ path, text }];

describe("imports", () => {
  it("are found in every form, with type-only ones told apart", () => {
    const text = [
      'import { a } from "./a.ts";',
      'import type { B } from "./b.ts";',
      'import { type C } from "./c.ts";',
      'export * from "./d.ts";',
      'export type { E } from "./e.ts";',
      'import {\n  f,\n  g,\n} from "./f.ts";',
      'import "./h.ts";',
      'const i = await import("./i.ts");',
      '// import { no } from "./comment.ts";',
      "const text = 'import { no } from \"./string.ts\"';",
    ].join("\n");
    const found = importsOf({ path: "src/pool/x.ts", text });
    const values = found.filter(({ isTypeOnly }) => !isTypeOnly).map(({ specifier }) => specifier);
    const types = found.filter(({ isTypeOnly }) => isTypeOnly).map(({ specifier }) => specifier);
    expect(values).toEqual(["./a.ts", "./c.ts", "./d.ts", "./f.ts", "./h.ts", "./i.ts"]);
    expect(types).toEqual(["./b.ts", "./e.ts"]);
    expect(found.find(({ specifier }) => specifier === "./f.ts")?.line).toBe(6);
  });
});

describe("layers", () => {
  it.each([
    ["down, through the index", "src/kvcache/a.ts", "../pool/index.ts"],
    ["inside a layer", "src/pool/a.ts", "./ledger.ts"],
    ["from below a layer's folder", "src/device/emulated/a.ts", "../../base/index.ts"],
    ["report may read sim", "src/report/a.ts", "../sim/index.ts"],
    ["a package, outside the core", "src/cli/a.ts", "commander"],
  ])("allow %s", (_what, path, specifier) => {
    expect(checkLayers(one(path, `import { x } from "${specifier}";`))).toEqual([]);
  });

  it.each([
    ["up", "src/pool/a.ts", "../engine/index.ts", "pool may not import engine"],
    ["sideways", "src/pool/a.ts", "../prefetch/index.ts", "pool may not import prefetch"],
    ["sim reading report", "src/sim/a.ts", "../report/index.ts", "sim may not import report"],
    ["limits reading more", "src/limits/a.ts", "../workload/index.ts", "limits may not import"],
    ["past an index", "src/kvcache/a.ts", "../pool/ledger.ts", "bypasses its index.ts"],
    ["a package in the core", "src/pool/a.ts", "zod", "pool is core and imports zod"],
    ["node in the core", "src/engine/a.ts", "node:fs", "engine is core and imports node:fs"],
    ["out of src", "src/cli/a.ts", "../../test/shared-data.ts", "leaves src"],
    ["without an ending", "src/pool/a.ts", "./ledger", "does not end in .ts"],
  ])("refuse %s", (_what, path, specifier, finding) => {
    const findings = checkLayers(one(path, `\nimport type { X } from "${specifier}";`));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toContain(finding);
    expect(findings[0]).toContain(`${path}:2:`);
  });

  it("refuse a folder that is not in the table, and files beside the folders", () => {
    expect(checkLayers(one("src/new/a.ts", ""))).toHaveLength(1);
    expect(checkLayers(one("src/main.ts", ""))).toHaveLength(1);
  });
});

describe("cycles", () => {
  const a = { path: "src/pool/a.ts", text: 'import { b } from "./b.ts";' };
  const b = { path: "src/pool/b.ts", text: 'import { c } from "./c.ts";' };

  it("are found through any number of files", () => {
    const c = { path: "src/pool/c.ts", text: 'import { a } from "./a.ts";' };
    const trail = "src/pool/a.ts -> src/pool/b.ts -> src/pool/c.ts -> src/pool/a.ts";
    expect(checkCycles([a, b, c])).toEqual([`cycle: ${trail}`]);
  });

  it("are not closed by a type", () => {
    const c = { path: "src/pool/c.ts", text: 'import type { A } from "./a.ts";' };
    expect(checkCycles([a, b, c])).toEqual([]);
  });
});
