/**
 * Tests that the scenarios which documents show can be run: each `yaml` block that names a server
 * is read by the scenario reader itself.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, it } from "vitest";

import { readScenario } from "../../src/scenario/index.ts";
import { listTree, readFiles } from "./tree.ts";

const folder = mkdtempSync(join(tmpdir(), "ema-examples-"));
afterAll(() => rmSync(folder, { recursive: true }));

const examples = readFiles(listTree().filter((path) => path.endsWith(".md"))).flatMap((document) =>
  [...document.text.matchAll(/^```yaml\n([^]*?)^```/gm)]
    .map((match, index) => ({ name: `${document.path} ${index + 1}`, text: match[1]! }))
    .filter(({ text }) => /^server:/m.test(text)),
);

function read(name: string, text: string) {
  const path = join(folder, `${name.replaceAll(/\W/g, "-")}.yaml`);
  writeFileSync(path, text);
  return readScenario(path, { set: [], traces: [] });
}

describe("scenarios in documents", () => {
  it("are there", () => {
    expect(examples.length).toBeGreaterThanOrEqual(3);
  });

  it.each(examples)("can be read: $name", ({ name, text }) => {
    expect(read(name, text).engines.length).toBeGreaterThan(0);
  });

  it("would be refused with a key that does not exist", () => {
    const [{ name, text }] = examples as [{ name: string; text: string }];
    expect(() => read(name, text.replace(/^server:/m, "sever:"))).toThrow(/sever/);
  });
});
