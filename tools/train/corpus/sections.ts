/**
 * Reads the text files of the corpus: `[title]` begins a section, `#` a remark, the rest are lines.
 *
 * Called by plots and talks when they are loaded. The files lie beside this one, because what is
 * prose is easier to read and to write as prose than as strings of a program.
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { assert } from "../../../src/base/assert.ts";

export interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

export function readSections(name: string): Section[] {
  const text = readFileSync(resolve(import.meta.dirname, name), "utf8");
  const sections: { title: string; lines: string[] }[] = [];
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const title = /^\[(.*)\]$/.exec(line)?.[1];
    if (title !== undefined) sections.push({ title, lines: [] });
    else {
      assert(sections.length > 0, () => `${name}: a line before the first section: ${line}`);
      sections.at(-1)!.lines.push(line);
    }
  }
  return sections;
}

/** The lines of one section. */
export function sectionLines(sections: readonly Section[], title: string): readonly string[] {
  const section = sections.find((candidate) => candidate.title === title);
  assert(section !== undefined, `no section ${title}`);
  return section.lines;
}

/** Both sides of "question => answer". */
export function sides(line: string): readonly [string, string] {
  const [left, right, ...rest] = line.split(" => ");
  assert(right !== undefined && rest.length === 0, () => `expected "a => b": ${line}`);
  return [left!, right];
}
