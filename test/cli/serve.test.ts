/** `ema serve` and `ema chat` as processes: engines, the openai client, signals, exit codes. */

import { spawn, type ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import type { RawChatOptions } from "../../src/cli/chat-command.ts";
import { runChat } from "../../src/cli/chat-run.ts";
import type { RawServeOptions } from "../../src/cli/serve-command.ts";
import { runServe } from "../../src/cli/serve-run.ts";
import { runEma } from "./run-ema.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

const OPTIONS: RawServeOptions = {
  ...{ devices: "emulated:1x16MiB", host: "127.0.0.1", port: "0", logLevel: "silent" },
  ...{ maxRequests: "256", maxWaiting: "256", maxBody: "2MiB", grace: "30" },
};

interface Process {
  readonly child: ChildProcess;
  readonly url: string;
  readonly client: OpenAI;
  readonly stderr: () => string;
  readonly exited: Promise<number | null>;
}

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

async function serve(args: readonly string[], env: Record<string, string> = {}): Promise<Process> {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", MAIN, "serve", "--port", "0", ...args],
    { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] },
  );
  started.push(child);
  let [stdout, stderr] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      const address = /(http:\/\/\S+)\/v1\n/.exec(stdout)?.[1];
      if (address !== undefined && stdout.includes("try: curl ")) resolve(address);
    });
    child.on("exit", (code) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });
  const apiKey = env["EMA_API_KEY"] ?? "none";
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  return { child, url, client, stderr: () => stderr, exited };
}

const messages = [{ role: "user" as const, content: "Hello 🚀" }];
const long = { ignore_eos: true } as object;

describe("ema serve", () => {
  it("answers, whole and streamed, the same by either engine; and ends at SIGTERM", async () => {
    const { client, child, exited, url, stderr } = await serve(["--devices", "emulated:2x16MiB"]);
    const [model, ...engines] = (await client.models.list()).data.map(({ id }) => id);
    expect(engines).toEqual([`${model}@gpu0`, `${model}@gpu1`]);
    const texts = await Promise.all(
      engines.map(async (engine) => {
        const ask = { model: engine, messages, seed: 7, max_tokens: 24, ...long };
        const whole = await client.chat.completions.create(ask);
        expect(whole.usage!.completion_tokens).toBe(24);
        const stream = await client.chat.completions.create({ ...ask, stream: true });
        let text = "";
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
        expect(text).toBe(whole.choices[0]!.message.content);
        return text;
      }),
    );
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]!.length).toBeGreaterThan(10);
    const { choices } = await client.completions.create({
      ...{ model: model!, prompt: "Once", max_tokens: 4, logprobs: 2, temperature: 0, ...long },
    });
    expect(choices[0]!.logprobs!.tokens).toHaveLength(4);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(
      `vllm:generation_tokens_total{model_name="${model}",engine="${model}@gpu1"} 48`,
    );
    child.kill("SIGTERM");
    expect([await exited, stderr()]).toEqual([0, expect.not.stringContaining("bug")]);
  });

  it("lets running requests finish at the first signal", async () => {
    const { client, child, exited, stderr } = await serve(["--devices", "emulated:1x16MiB"]);
    const ask = { model: "ema-tiny", prompt: "Once", max_tokens: 300, n: 4, seed: 1, ...long };
    const stream = await client.completions.create({ ...ask, stream: true });
    const reasons: string[] = [];
    for await (const { choices } of stream) {
      if (reasons.length === 0 && !child.killed) child.kill("SIGINT");
      for (const choice of choices) if (choice.finish_reason) reasons.push(choice.finish_reason);
    }
    expect(reasons).toEqual(Array(4).fill("length"));
    expect(await exited).toBe(0);
    expect(stderr()).toContain("ema: SIGINT: finishing 1 request, 30 s at most");
  });

  it("ends at once at the second signal", async () => {
    const { client, child, exited, stderr } = await serve(["--devices", "emulated:1x16MiB"]);
    const ask = { model: "ema-tiny", prompt: "Once", max_tokens: 900, n: 32, ...long };
    const stream = await client.completions.create({ ...ask, stream: true });
    let isSecond = false;
    const read = async () => {
      for await (const _ of stream) {
        if (!child.killed) child.kill("SIGTERM");
        else if (!isSecond && stderr().includes("once more ends at once")) {
          isSecond = child.kill("SIGTERM");
        }
      }
    };
    await expect(read()).rejects.toThrow(/./);
    expect(await exited).toBe(128 + 15);
  });

  it("bound to every address asks for its key", async () => {
    const env = { EMA_API_KEY: "sesame" };
    const args = ["--devices", "emulated:1x16MiB", "--host", "0.0.0.0", "--name", "m"];
    const { client, url, child, exited } = await serve(args, env);
    expect((await fetch(`${url}/v1/models`)).status).toBe(401);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["m"]);
    child.kill("SIGTERM");
    expect(await exited).toBe(0);
  });
});

describe("bad input to ema serve", () => {
  it("is one line and exit code 2", async () => {
    const run = await runEma(["serve", "--host", "0.0.0.0"], { EMA_API_KEY: "" });
    expect(run.stderr).toMatch(/^ema: --host 0\.0\.0\.0 lets other machines in: [^\n]+\n$/);
    expect([run.stdout, run.exitCode]).toEqual(["", 2]);
  });

  it.each<[Partial<RawServeOptions>, string, RegExp]>([
    [{ devices: "emulated:1x1MiB" }, "E_MODEL_FIT", /no room/],
    [{ devices: "cuda:0" }, "E_ARGUMENT", /no devices of kind "cuda"/],
    [{ model: "gone.gguf" }, "E_FILE", /gone\.gguf/],
  ])("%j is refused", async (options, code, expected) => {
    const running = runServe({ ...OPTIONS, ...options });
    await expect(running).rejects.toMatchObject({ code, message: expect.stringMatching(expected) });
  });

  it("an address that is taken is refused, and the engines are gone again", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    await expect(runServe({ ...OPTIONS, port: `${port}` })).rejects.toMatchObject({
      code: "E_LISTEN",
      message: `cannot listen on 127.0.0.1:${port}: another program listens there`,
    });
    other.close();
  });
});

describe("ema chat", () => {
  it("without a terminal answers line by line, with a server of its own", async () => {
    const args = ["--import", "tsx", MAIN, "chat", "--devices", "emulated:1x16MiB"];
    const child = spawn(process.execPath, [...args, "--seed", "3", "--max-tokens", "12"], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    started.push(child);
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdin.end("Hello\n/reset\nHello\n");
    const code = await new Promise((resolve) => child.on("close", resolve));
    const [first, second, ...rest] = stdout.trimEnd().split("\n");
    expect(code).toBe(0);
    expect([second, rest]).toEqual([first, []]);
    expect(stderr).toContain("ema-tiny on 1 emulated device of 16 MiB");
    expect(stderr).toMatch(/\d+ tokens, .*ema-tiny@gpu0/);
  });

  it("without a server there is one line and exit code 2", async () => {
    const run = await runEma(["chat", "--url", "http://127.0.0.1:1"]);
    expect(run.stderr).toMatch(/^ema: cannot reach http:\/\/127\.0\.0\.1:1: [^\n]+\n$/);
    expect([run.stdout, run.exitCode]).toEqual(["", 2]);
  });

  const right = { devices: "emulated:1x16MiB", temperature: "0.7" };
  it.each<[Partial<RawChatOptions>, boolean, RegExp]>([
    [{ url: "nowhere" }, false, /--url "nowhere": expected an address/],
    [{ url: "http://x" }, true, /--devices does not go with --url/],
    [{ url: "http://x", static: true }, false, /--static does not go with --url/],
    [{ apiKey: "k" }, false, /--api-key needs --url/],
    [{ temperature: "hot" }, false, /--temperature "hot": expected a number/],
    [{ temperature: "" }, false, /--temperature ""/],
    [{ seed: "-1" }, false, /--seed "-1": expected a whole number/],
  ])("of %j is refused", async (options, isDevicesGiven, expected) => {
    await expect(runChat({ ...right, ...options }, isDevicesGiven)).rejects.toThrow(expected);
  });
});
