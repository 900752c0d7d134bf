/** `ema compare --capacity` as a user runs it: one small search, and what it refuses. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { capacitySchema, type CapacityJson } from "../../src/report/capacity-schema.ts";
import { runEma } from "./run-ema.ts";

const folder = mkdtempSync(join(tmpdir(), "ema-capacity-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const scenarioFile = join(folder, "pair.yaml");
writeFileSync(
  scenarioFile,
  [
    "server: 2xa100-40g",
    "systems: [static, double, ema]",
    "engines:",
    "  - name: chat",
    "    gpus: [0]",
    "    model: OPT-13B",
    "    workload: { arrivals: poisson, rate: 4, seconds: 120, lengths: sharegpt }",
    "  - name: batch",
    "    gpus: [1]",
    "    model: OPT-13B",
    "    workload: { arrivals: backlog, requests: 5, lengths: alpaca }",
  ].join("\n"),
);
const traceFile = join(folder, "trace.csv");
const rows = Array.from({ length: 200 }, (_, index) => `${(index * 0.5).toFixed(1)},200,40`);
writeFileSync(traceFile, ["arrived_at,num_prefill_tokens,num_decode_tokens", ...rows].join("\n"));

async function capacityOf(...words: string[]): Promise<CapacityJson> {
  const { stdout, stderr, exitCode } = await runEma(["compare", ...words, "--capacity", "--json"]);
  expect(exitCode, stderr).toBe(0);
  return capacitySchema.parse(JSON.parse(stdout));
}

describe("a search", () => {
  it("finds rates of the most loaded engine that a comparison confirms", async () => {
    const json = await capacityOf(scenarioFile);
    expect(json).toMatchObject({ engine: "chat", seeds: [1] });
    const { static: fixed, double, ema } = json.capacity;
    expect(fixed!.isBracketed && double!.isBracketed && ema!.isBracketed).toBe(true);
    // It makes some 1.9 requests/s at most; queues of two seconds come well before that.
    expect(fixed!.requestsPerSecond).toBeGreaterThan(0.8);
    expect(fixed!.requestsPerSecond).toBeLessThan(2.2);
    expect(double!.versusStatic).toBeGreaterThan(1.5);
    expect(ema!.versusStatic).toBeGreaterThan(1.2);

    const set = `${json.scaledKey}=${ema!.setting}`;
    const words = ["compare", scenarioFile, "--systems", "ema", "--repeat", "1", "--json"];
    const again = await runEma([...words, "--set", set]);
    const chat = JSON.parse(again.stdout).systems.ema.engines.chat;
    expect(chat.ttftSeconds.p99).toBeLessThanOrEqual(2);
    expect(chat.tpotSeconds.p99).toBeLessThanOrEqual(0.1);
  });

  it("scales a trace by rateScale, and shows a table", async () => {
    const words = ["--server", "1xa100-40g", "--model", "OPT-13B", "--trace", traceFile];
    const run = await runEma(["compare", ...words, "--systems", "static", "--capacity"]);
    expect(run.exitCode, run.stderr).toBe(0);
    expect(run.stdout).toContain("engines.gpu0.workload.rateScale");
    expect(run.stdout).toMatch(/^static +[\d.]+ /m);
  });
});

describe("what it refuses", () => {
  const set = (workload: string) => ["--set", `engines.chat.workload=${workload}`];
  it.each([
    [["--engine", "chta"], /--engine "chta": no such engine; did you mean chat\?/],
    [["--engine", "batch"], /engine batch has all its requests at one time/],
    [["--engine", "chat", ...set("none")], /engine chat has no requests/],
    [
      ["--engine", "chat", ...set("[{arrivals: poisson, rate: 1, seconds: 9, lengths: alpaca}]")],
      /engine chat cannot be scaled: expected one workload with a rate/,
    ],
    [["--report", "out.html"], /--report does not go with --capacity/],
  ])("%j", async (words, message) => {
    const run = await runEma(["compare", scenarioFile, "--capacity", ...words]);
    expect(run.exitCode).toBe(2);
    expect(run.stdout).toBe("");
    const said = run.stderr.split("\n").filter((line) => line.startsWith("ema: "));
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(message);
  });

  it("--engine without --capacity", async () => {
    const run = await runEma(["compare", scenarioFile, "--engine", "chat"]);
    expect(run).toMatchObject({ exitCode: 2, stdout: "" });
    expect(run.stderr).toBe("ema: --engine goes with --capacity only\n");
  });
});
