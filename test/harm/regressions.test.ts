/** Servers on which lending harmed somebody once, each cut down to what showed it. */

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readScenario } from "../../src/scenario/index.ts";
import { judgeScenario, SHRUNK_FINISHED_MIN } from "../../tools/harm/server-verdict.ts";

const FOLDER = fileURLToPath(new URL("./fixtures/", import.meta.url));

/** Admission settings that showed it, where it was not this one. */
const USUAL_SETTING = "growth-10";
const SETTINGS: Readonly<Record<string, string>> = { "slice-for-a-slice.yaml": "growth-5" };

describe("servers that once showed harm", () => {
  for (const file of readdirSync(FOLDER)) {
    it(`${file} harms nobody`, () => {
      const scenario = readScenario(`${FOLDER}${file}`, { set: [], traces: [] });
      const setting = SETTINGS[file] ?? USUAL_SETTING;
      const verdict = judgeScenario(scenario, setting, undefined, SHRUNK_FINISHED_MIN);
      const judged = verdict.engines.filter(({ judgements }) => judgements.length > 0);
      const broken = judged.flatMap(({ name, judgements }) =>
        judgements
          .filter(({ isViolation }) => isViolation)
          .map(({ bound, ratio }) => `${name}: ${bound} ${ratio.toFixed(3)}`),
      );
      expect(judged.length).toBeGreaterThan(0);
      expect(broken).toEqual([]);
      expect(verdict.errors).toEqual([]);
    });
  }
});
