/** What people see on a terminal: the table, the picture, groups, progress; widths and colours. */

import { describe, expect, it } from "vitest";
import {
  compare,
  createPaint,
  ProgressLine,
  textReport,
  type CompareResult,
} from "../../src/report/index.ts";
import { groupEngines } from "../../src/report/engine-groups.ts";
import { clockTime, significant } from "../../src/report/figures.ts";
import { memoryPicture } from "../../src/report/memory-picture.ts";
import {
  engineRecord,
  engineSettings,
  plausibleSimulator,
  runRecord,
  scenarioOf,
  SECOND,
  simulatorOf,
  systemSettings,
} from "./fixtures.ts";

const PLAIN = createPaint(false);
const SYSTEMS = [systemSettings("static"), systemSettings("double"), systemSettings("ema")];
const ESCAPE = "\u001b[";

function plausible(seeds: readonly number[] = [1, 2, 3]): CompareResult {
  const scenario = scenarioOf(["chat", "code"], SYSTEMS);
  return compare(scenario, { simulator: plausibleSimulator(), seeds });
}

describe("the text report", () => {
  const result = plausible();

  it.each([80, 120])("fits %d columns", (columns) => {
    const lines = textReport(result, columns, PLAIN).split("\n");
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
  });

  it("has one line per system and engine, and one of all", () => {
    const lines = textReport(result, 120, PLAIN).split("\n");
    const start = lines.findIndex((line) => line.startsWith("static"));
    const names = lines.slice(start, start + 9).map((line) => line.slice(0, 15).trim());
    const perSystem = (system: string): string[] => [`${system}chat`, "code", "total"];
    expect(names).toEqual(["static  ", "double  ", "ema     "].flatMap(perSystem));
  });

  it("names capacities, admission settings, rungs and ends with the verdict", () => {
    const text = textReport(result, 120, PLAIN);
    expect(text).toContain("OPT-13B on a100-40g 9840 tokens (8.06 GB)");
    expect(text).toContain("ema half the growth");
    expect(text).toContain("twin unused");
    expect(text.trimEnd().split("\n\n").at(-1)).toMatch(/^Yes: with ema, chat makes/);
  });

  it("has colours only when asked for", () => {
    expect(textReport(result, 120, PLAIN)).not.toContain(ESCAPE);
    expect(textReport(result, 120, createPaint(true))).toContain(ESCAPE);
  });

  it("sets the best in bold, but never double, which nobody can switch on", () => {
    const text = textReport(result, 120, createPaint(true));
    const bold = text.split(`${ESCAPE}1m`).map((part) => part.split(ESCAPE)[0]);
    const total = result.json.systems["ema"]!.total.outputTokensPerSecond!.toFixed(0);
    const double = result.json.systems["double"]!.total.outputTokensPerSecond!.toFixed(0);
    expect(bold).toContain(total);
    expect(bold).not.toContain(double);
  });

  it("says nothing of memory that never moved", () => {
    const scenario = scenarioOf(["chat"], [systemSettings("static")]);
    const still = compare(scenario, { simulator: simulatorOf(() => runRecord()), seeds: [1] });
    const text = textReport(still, 80, PLAIN);
    expect(text).not.toContain("borrowed");
    expect(text).not.toMatch(/NaN|undefined|null/);
  });
});

describe("engine groups", () => {
  const named = (names: readonly string[]) =>
    names.map((name, index) => engineSettings(name, index));

  it("are single engines up to eight", () => {
    const names = ["busy", "lend1", "lend2", "lend3", "lend4", "lend5", "lend6", "lend7"];
    expect(groupEngines(named(names)).map(({ label }) => label)).toEqual(names);
  });

  it("fold engines of one stem and model beyond", () => {
    const names = ["busy", ...Array.from({ length: 8 }, (_, index) => `lend${index + 1}`)];
    const engines = named(names);
    engines[3] = { ...engines[3]!, model: { ...engines[3]!.model, name: "Qwen3-32B" } };
    expect(groupEngines(engines)).toEqual([
      { label: "busy", engineIndices: [0] },
      { label: "lend1..8 (7)", engineIndices: [1, 2, 4, 5, 6, 7, 8] },
      { label: "lend3", engineIndices: [3] },
    ]);
  });
});

describe("the memory picture", () => {
  const sample = (seconds: number, ownBytes: number, lentBytes = 0) => ({
    timeNs: seconds * SECOND,
    ownBytes,
    lentBytes,
    freeBytes: 8 - ownBytes - lentBytes,
    borrowedBytes: 0,
    tokens: 0,
  });

  it("draws time-weighted means of equal slots, to the scale of the GPU's own memory", () => {
    // 33 columns of 1 s: own 0 in the first eleven, half in the next, all in the last.
    const run = runRecord({
      endNs: 33 * SECOND,
      engines: [engineRecord({ kvBytesCapacity: 8 })],
      samples: [[sample(0, 0), sample(11, 4), sample(22, 8)]],
    });
    const [own, axis] = memoryPicture(run, 66, PLAIN);
    expect(own).toContain(`own      ${" ".repeat(11)}${"▄".repeat(11)}${"█".repeat(11)} max`);
    expect(axis).toMatch(/0 s +33 s$/);
  });

  it("shows even a little, and kinds of memory only where there were any", () => {
    const run = runRecord({
      endNs: 10 * SECOND,
      engines: [engineRecord({ kvBytesCapacity: 8 })],
      samples: [[sample(0, 0.01, 1)]],
    });
    const lines = memoryPicture(run, 60, PLAIN);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("▁▁");
    expect(lines[1]).toContain("lent");
  });

  it("is nothing without samples", () => {
    expect(memoryPicture(runRecord(), 80, PLAIN)).toEqual([]);
  });
});

describe("progress", () => {
  function runLine(isTerminal: boolean, timesMs: readonly number[]): string[] {
    const written: string[] = [];
    let nowMs = 0;
    const line = new ProgressLine({
      isTerminal,
      widthColumns: 40,
      nowMs: () => nowMs,
      write: (text) => written.push(text),
    });
    for (const timeMs of timesMs) {
      nowMs = timeMs;
      const doneShare = timeMs / 20_000;
      line.update({ doneShare, system: "ema", admission: "half the growth", seed: 2 });
    }
    line.finish();
    return written;
  }

  it("says nothing about what takes less than a second", () => {
    expect(runLine(true, [0, 500, 999])).toEqual([]);
  });

  it("is one updating line on a terminal, cut to its width and taken away at the end", () => {
    const written = runLine(true, [1000, 1050, 10_000]);
    expect(written).toHaveLength(3);
    const text = "50 %: ema (half the growth), seed 2, 0:10 left".slice(0, 39);
    expect(written[1]).toBe(`\r${ESCAPE}K${text}`);
    expect(written[2]).toBe(`\r${ESCAPE}K`);
  });

  it("is plain lines every few seconds elsewhere", () => {
    const written = runLine(false, [1000, 3000, 5999, 6000, 11_000]);
    expect(written).toEqual([
      "5 %: ema (half the growth), seed 2, 0:19 left\n",
      "30 %: ema (half the growth), seed 2, 0:14 left\n",
      "55 %: ema (half the growth), seed 2, 0:09 left\n",
    ]);
  });
});

describe("figures", () => {
  it.each([
    [0.12345, "0.123"],
    [1.2345, "1.23"],
    [12.345, "12.3"],
    [123.45, "123"],
    [null, "-"],
  ])("%s is written %s", (value, text) => {
    expect(significant(value)).toBe(text);
  });

  it("durations read like clocks", () => {
    expect([5, 65, 3661].map((seconds) => clockTime(seconds))).toEqual(["0:05", "1:05", "1:01:01"]);
  });
});
