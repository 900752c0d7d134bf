/** Tests of files that are no scenario: hostile YAML, no text, and any damage to a good one. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { readScenario } from "../../src/scenario/index.ts";
import { EXAMPLE, failureOf, folder, read, TRACE, write } from "./scenario-fixture.ts";

const trace = write("t.csv", TRACE);
const failure = (text: string): string => failureOf(() => read(text, { traces: [trace] }));

describe("not a scenario at all", () => {
  it.each([
    ["", "s.yaml:1: expected a map of keys, got nothing"],
    ["# only a comment\n", "s.yaml:1: expected a map of keys, got nothing"],
    ["- a\n- b\n", "s.yaml:1: expected a map of keys, got a list"],
    ["42", "s.yaml:1: expected a map of keys, got 42"],
    ["hello", 's.yaml:1: expected a map of keys, got "hello"'],
    ["seed: 1\nseed: 2\n", "s.yaml:2: not YAML: Map keys must be unique"],
    ["seed:\n\t1\n", "s.yaml:2: not YAML: Tabs are not allowed as indentation"],
    ["seed: [1\n", "s.yaml:2: not YAML: Flow sequence"],
    ["seed: 1\n---\nseed: 2\n", "s.yaml:2: not YAML: Source contains multiple documents"],
    ["engines: *gone\n", "s.yaml: not YAML: Unresolved alias"],
    ["trace: @1\n", "s.yaml:1: not YAML: Plain value cannot start with reserved character @"],
    ["a: &a [*a]\n", "s.yaml: expected at most 16 levels of nesting"],
    ["[".repeat(100_000), "s.yaml: expected at most 16 levels of nesting"],
    ["- ".repeat(100_000), "s.yaml: expected at most 16 levels of nesting"],
    [`a: ${"[".repeat(20)}${"]".repeat(20)}`, "s.yaml: expected at most 16 levels of nesting"],
    ["\0\u0001\u0002", "s.yaml:1: "],
  ])("%#", (text, message) => {
    expect(failure(text)).toContain(`E_SCENARIO ${message}`);
  });

  it("a bomb of aliases", () => {
    const levels = ["a: &l0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 12; level++) {
      const items = new Array<string>(10).fill(`*l${level - 1}`).join(", ");
      levels.push(`b${level}: &l${level} [${items}]`);
    }
    expect(failure(levels.join("\n"))).toBe(
      "E_SCENARIO s.yaml: not YAML: Excessive alias count indicates a resource exhaustion attack",
    );
  });

  it("no file, a directory, a file of megabytes, bytes that are no text", () => {
    const codeOf = (name: string): string =>
      failureOf(() => readScenario(`${folder}/${name}`, { set: [], traces: [] }));
    expect(codeOf("gone.yaml")).toBe("E_FILE gone.yaml: no such file");
    expect(codeOf(".")).toContain("expected a file, found a directory or a device");
    write("large.yaml", "#".repeat(1 << 21));
    expect(codeOf("large.yaml")).toContain("E_SCENARIO large.yaml: expected at most 256 KiB");
    write("bytes.yaml", Uint8Array.from({ length: 999 }, (_, index) => (index * 37) % 256));
    expect(codeOf("bytes.yaml")).toContain("E_SCENARIO bytes.yaml:");
  });
});

it("whatever is cut out of a scenario or put in, the answer is a scenario or one line", () => {
  const marks = ["", "  ", "\t", "[", "}", ": ", "- ", "&a ", "*a", "!!x ", '"', "@", "#"];
  const snippets = [...marks, "1e400", "null", "~", "\n", "%"];
  const property = fc.property(
    fc.nat(EXAMPLE.length),
    fc.nat(30),
    fc.constantFrom(...snippets),
    (start, length, snippet) => {
      const text = EXAMPLE.slice(0, start) + snippet + EXAMPLE.slice(start + length);
      try {
        read(text, { traces: [trace] });
      } catch (error) {
        expect(error).toBeInstanceOf(EmaError);
        expect((error as Error).message).toMatch(/^[^\n]*s\.yaml(:\d+)?: [^\n]+$/);
      }
    },
  );
  fc.assert(property, { numRuns: 300 });
});
