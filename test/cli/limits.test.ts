/**
 * `ema limits`: answers and JSON through a real process; each kind of bad input through the command
 * itself, and some of them through a process too, because a process costs a second.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/cli/edge.ts";
import { registerLimits } from "../../src/cli/limits-command.ts";
import { runEma } from "./run-ema.ts";

const OPT = ["limits", "--server", "4xa100-40g", "--model", "OPT-13B"];

const SCENARIO = `
server: 4xa100-40g
pool: { lenderShare: 3% }
engines:
  - { name: quiet, gpus: [1], model: OPT-13B, tenant: b,
      workload: { arrivals: poisson, rate: 0.02, seconds: 600, lengths: alpaca } }
  - { name: chat, gpus: [0], model: OPT-13B, tenant: a,
      workload: { arrivals: poisson, rate: 6, seconds: 600, lengths: sharegpt } }
  - { name: spare, gpus: [2], model: OPT-13B, tenant: c }
`;

let folder = "";
let scenario = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ema-limits-"));
  scenario = join(folder, "three.yaml");
  writeFileSync(scenario, SCENARIO);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface LimitJson {
  readonly outputTokensPerSecond: number;
  readonly ratioToStatic: number;
  readonly stepSeconds: number;
  readonly limitedBy: string;
}

interface LimitsJson {
  readonly formatVersion: number;
  readonly engine: string | null;
  readonly contextTokens: number;
  readonly capBytes: number | null;
  readonly peers: number;
  readonly lenderShare: number | null;
  readonly ideal: LimitJson;
  readonly practical: LimitJson;
  readonly practicalLendersIdle: LimitJson;
  readonly practicalLendersRunning: LimitJson;
  readonly workload: { readonly lenderRunShare: number } | null;
  readonly costSources: readonly { readonly part: string; readonly kind: string }[];
}

async function json(args: readonly string[]): Promise<LimitsJson> {
  const { stdout, stderr, exitCode } = await runEma([...args, "--json"]);
  expect(stderr).toMatch(/^(note: [^\n]+\n)*$/);
  expect(exitCode).toBe(0);
  return JSON.parse(stdout) as LimitsJson;
}

describe("a server, a model and a context", () => {
  it("answer with the published figure, and below it with costs", async () => {
    const answer = await json([...OPT, "--context", "1024"]);
    expect(answer.formatVersion).toBe(1);
    expect(answer.peers).toBe(3);
    expect(answer.ideal.ratioToStatic).toBeCloseTo(1.56, 2);
    const { ideal, practical } = answer;
    expect(practical.outputTokensPerSecond).toBeLessThan(ideal.outputTokensPerSecond);
    expect(answer.practicalLendersRunning.limitedBy).toBe("lender-share");
    expect(answer.workload).toBeNull();
  });

  it.concurrent("say of each part of the times whether it was measured", async () => {
    const { costSources } = await json([...OPT, "--context", "1024"]);
    const kinds = costSources.map(({ part, kind }) => `${part} ${kind}`);
    expect(kinds).toContain("linear scaled");
    expect(kinds).toContain("host assumed");
    const { stdout } = await runEma([...OPT, "--context", "1024"]);
    expect(stdout).toMatch(/Operators' times: linear scaled, .*head roofline, host assumed/);
  });

  it("take a cap, a count of peers and a mode", async () => {
    const answer = await json([...OPT, "--context", "512", "--cap", "none", "--peers", "3"]);
    expect(answer.capBytes).toBeNull();
    expect(answer.ideal.ratioToStatic).toBeCloseTo(1.7, 2);
    expect(Math.round(answer.ideal.stepSeconds * 1000)).toBe(44);
    const direct = await json([...OPT, "--context", "512", "--mode", "direct"]);
    expect(direct.ideal.ratioToStatic).toBeCloseTo(1.22, 2);
    const alone = await json([...OPT, "--context", "512", "--peers", "0"]);
    expect(alone.ideal.ratioToStatic).toBe(1);
  });

  it("print a table that people can read, without colours in a pipe", async () => {
    const { stdout, exitCode } = await runEma([...OPT, "--context", "1024"], { CI: "1" });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("Borrowing serves at most 1.60x what static serves");
    expect(stdout).toMatch(/static +326 +30\.3 ms/);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).not.toMatch(/NaN|Infinity|undefined/);
  });
});

describe("a scenario", () => {
  it("answers for its most loaded engine, with its lengths and its lenders' load", async () => {
    const answer = await json(["limits", scenario]);
    expect(answer.engine).toBe("chat");
    expect(answer.lenderShare).toBe(0.03);
    expect(answer.peers).toBe(2);
    expect(answer.contextTokens).toBeGreaterThan(161 + 338 / 2);
    expect(answer.workload?.lenderRunShare).toBeGreaterThan(0);
    expect(answer.workload?.lenderRunShare).toBeLessThan(0.2);
    expect(answer.practical.ratioToStatic).toBeGreaterThan(1.4);
    const { practical, practicalLendersIdle, practicalLendersRunning } = answer;
    // A mean over states that are alike may be off in its last digit.
    const idle = practicalLendersIdle.ratioToStatic * (1 + 1e-12);
    expect(practical.ratioToStatic).toBeLessThanOrEqual(idle);
    expect(practical.ratioToStatic).toBeGreaterThan(practicalLendersRunning.ratioToStatic);
  });

  it("is changed by --set", async () => {
    const { lenderShare } = await json(["limits", scenario, "--set", "pool.lenderShare=none"]);
    expect(lenderShare).toBeNull();
  });

  it("says when the engine asked about needs nothing", async () => {
    const { stdout } = await runEma(["limits", scenario, "--engine", "quiet"]);
    expect(stdout).toContain("asks for less than static serves");
  });
});

describe("bad input is one line and exit code 2", () => {
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ...["0", "-1", "NaN", "1e400", "3.5", "", "1,024", "99999999999"].map(
      (text) =>
        [
          `--context "${text}"`,
          [...OPT, "--context", text],
          /^ema: --context ".*": expected a whole number of at least 1\n$/,
        ] as const,
    ),
    ["a context beyond the model's", [...OPT, "--context", "4096"], /at most 2048 tokens/],
    ["-1 peers", [...OPT, "--context", "512", "--peers", "-1"], /--peers "-1": expected a whole/],
    ["too many peers", [...OPT, "--context", "512", "--peers", "4"], /--peers 4: .* 3 others/],
    ["a bare cap", [...OPT, "--context", "512", "--cap", "100"], /--cap "100": expected a share/],
    ["an endless cap", [...OPT, "--context", "512", "--cap", "1e400%"], /--cap "1e400%"/],
    ["an unknown mode", [...OPT, "--context", "512", "--mode", "stage"], /staged, direct, mixed/],
    ["no context", OPT, /--context missing/],
    ["nothing at all", ["limits"], /--server, --model, --context missing/],
    [
      "an unknown model",
      ["limits", "--server", "4xa100-40g", "--model", "OPT-14B", "--context", "512"],
      /OPT-13B/,
    ],
    [
      "an unknown server",
      ["limits", "--server", "4xa100-41g", "--model", "OPT-13B", "--context", "512"],
      /4xa100-40g/,
    ],
    [
      "a model that does not fit",
      ["limits", "--server", "4xa100-40g", "--model", "Qwen3-32B", "--context", "512"],
      /does not fit/,
    ],
    ["a missing file", ["limits", "nowhere.yaml"], /nowhere\.yaml/],
    ["--engine alone", [...OPT, "--context", "9", "--engine", "a"], /needs a scenario/],
  ];
  it.each(cases)("%s", async (_, args, expected) => {
    const program = new Command("ema").exitOverride().configureOutput({ outputError: () => {} });
    registerLimits(program);
    const failure: unknown = await program.parseAsync(args, { from: "user" }).then(
      () => null,
      (error: unknown) => error,
    );
    const { lines, exitCode } = outcomeOf(failure, false);
    expect(lines).toHaveLength(1);
    expect(`${lines[0]}\n`).toMatch(expected);
    expect(lines[0]).toMatch(/^ema: [^\n]+$/);
    expect(exitCode).toBe(2);
  });

  it.concurrent.each(["-1", ""])('--context "%s" in a process', async (text) => {
    const { stdout, stderr, exitCode } = await runEma([...OPT, "--context", text]);
    expect(stderr).toBe(`ema: --context "${text}": expected a whole number of at least 1\n`);
    expect([stdout, exitCode]).toEqual(["", 2]);
  });

  it("an engine that is not there, with the nearest", async () => {
    const { stderr, exitCode } = await runEma(["limits", scenario, "--engine", "chatt"]);
    expect(stderr).toMatch(/^ema: --engine "chatt": .*chat.*\n$/);
    expect(exitCode).toBe(2);
  });

  it("an engine without requests, and options that a scenario says itself", async () => {
    const spare = await runEma(["limits", scenario, "--engine", "spare"]);
    expect(spare.stderr).toMatch(/spare .* has no requests/);
    const twice = await runEma(["limits", scenario, "--context", "9"]);
    expect(twice.stderr).toMatch(/--context does not go with a scenario/);
    expect([spare.exitCode, twice.exitCode]).toEqual([2, 2]);
  });
});
