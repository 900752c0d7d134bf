/** The shell around the commands: help, version, usage errors, and where failures end. */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AssertionFailure, EmaError } from "../../src/base/index.ts";
import { EXIT, outcomeOf } from "../../src/cli/edge.ts";
import { runEma } from "./run-ema.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe("ema", () => {
  it.concurrent("prints its version from package.json", async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      version: string;
    };
    expect(await runEma(["--version"])).toEqual({
      stdout: `${version}\n`,
      stderr: "",
      exitCode: 0,
    });
  });

  it.concurrent("prints help with examples on stdout", async () => {
    const { stdout, stderr, exitCode } = await runEma(["--help"]);
    expect(stdout).toContain("Usage: ema");
    expect(stdout).toContain("$ ema limits --server");
    expect([stderr, exitCode]).toEqual(["", 0]);
  });

  it.concurrent("prints the help of a command", async () => {
    const { stdout, exitCode } = await runEma(["limits", "--help"]);
    expect(stdout).toContain("--cap");
    expect(stdout).toContain("Examples:");
    expect(exitCode).toBe(0);
  });

  it.concurrent("alone is bad usage: help on stderr", async () => {
    const { stdout, stderr, exitCode } = await runEma([]);
    expect(stderr).toContain("Usage: ema");
    expect([stdout, exitCode]).toEqual(["", 2]);
  });

  const usage: readonly (readonly [string, readonly string[], RegExp])[] = [
    ["an unknown command", ["limts"], /unknown command 'limts'; did you mean limits\?/],
    ["an unknown option", ["limits", "--contxt", "9"], /unknown option '--contxt'; did you mean/],
    ["a missing value", ["limits", "--context"], /'--context <tokens>' argument missing/],
    ["an argument too many", ["limits", "a.yaml", "b.yaml"], /too many arguments/],
  ];
  it.concurrent.each(usage)("%s is one line and exit code 2", async (_, args, expected) => {
    const { stdout, stderr, exitCode } = await runEma(args);
    expect(stderr).toMatch(expected);
    expect(stderr).toMatch(/^ema: [^\n]+\n$/);
    expect([stdout, exitCode]).toEqual(["", 2]);
  });
});

describe("what a failure means", () => {
  it("a fault from outside is its message in one line", () => {
    const outcome = outcomeOf(new EmaError("E_TRACE", "a.csv:3:\n  expected a number"), false);
    expect(outcome).toEqual({ lines: ["ema: a.csv:3: expected a number"], exitCode: 2 });
  });

  it("a failed assertion, any other error and any thrown thing are bugs", () => {
    const bugs = [new AssertionFailure("ledger: free -1"), new TypeError("x is null"), "text"];
    for (const bug of bugs) {
      const { lines, exitCode } = outcomeOf(bug, false);
      expect(exitCode).toBe(EXIT.bug);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/^ema: this is a bug in EMA: .*EMA_DEBUG=1/);
    }
  });

  it("a stack is shown only when it is asked for", () => {
    const bug = new AssertionFailure("ledger: free -1");
    expect(outcomeOf(bug, false).lines.join("\n")).not.toContain("main.test.ts");
    expect(outcomeOf(bug, true).lines.join("\n")).toContain("main.test.ts");
  });

  it("help and version are no failures", () => {
    for (const code of ["commander.helpDisplayed", "commander.version", "commander.help"]) {
      expect(outcomeOf(new CommanderError(0, code, ""), false).exitCode).toBe(EXIT.ok);
    }
    const shownUnasked = new CommanderError(1, "commander.help", "");
    expect(outcomeOf(shownUnasked, false)).toEqual({ lines: [], exitCode: EXIT.badInput });
  });
});

describe("the edge of a process", () => {
  let folder = "";
  /** A program of its own around the edge, run like the real one. */
  const program = (name: string, body: string): string => {
    const path = join(folder, `${name}.ts`);
    const edge = JSON.stringify(join(ROOT, "src/cli/edge.ts"));
    writeFileSync(path, `import { runAtEdge } from ${edge};\n${body}\n`);
    return path;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "ema-edge-"));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("ends with 1 on a bug, with one line, also outside the command's own promise", async () => {
    const thrown = program("thrown", `await runAtEdge(async () => { throw new Error("no"); });`);
    const later = program(
      "later",
      `await runAtEdge(async () => { setTimeout(() => { throw new Error("no"); }, 1);
        await new Promise((resolve) => setTimeout(resolve, 10000)); });`,
    );
    for (const path of [thrown, later]) {
      const { stdout, stderr, exitCode } = await runEma([], {}, path);
      expect(stderr).toMatch(/^ema: this is a bug in EMA: Error: no \(EMA_DEBUG=1[^\n]+\n$/);
      expect([stdout, exitCode]).toEqual(["", 1]);
    }
    expect((await runEma([], { EMA_DEBUG: "1" }, thrown)).stderr).toContain("thrown.ts");
  });

  it("keeps the exit code that a command has set", async () => {
    const path = program("code", `await runAtEdge(async () => { process.exitCode = 3; });`);
    expect((await runEma([], {}, path)).exitCode).toBe(3);
  });

  it("ends quietly when the reader of stdout goes away", async () => {
    const path = program(
      "pipe",
      `await runAtEdge(async () => {
        for (let i = 0; i < 100; i++) {
          process.stdout.write("x".repeat(65536) + "\\n");
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      });`,
    );
    const child = spawn(process.execPath, ["--import", "tsx", path], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdout.once("data", () => child.stdout.destroy());
    const exitCode = await new Promise((resolve) => child.on("close", resolve));
    expect([stderr, exitCode]).toEqual(["", 0]);
  });
});
