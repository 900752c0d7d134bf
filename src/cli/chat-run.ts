/**
 * Runs `ema chat`: a server of its own or a running one, a screen, and a session between them.
 *
 * Loaded by the command when it runs. A composition root: it knows the clock, the environment,
 * streams and signals for the chat.
 */

import { EmaError } from "../base/index.ts";
import { createPaint } from "../report/index.ts";
import { ChatClient, ChatRefusal, type ChatOptions } from "./chat-client.ts";
import type { RawChatOptions } from "./chat-command.ts";
import { ChatPipe } from "./chat-pipe.ts";
import { ChatSession, type ChatScreen, type SessionClock } from "./chat-session.ts";
import { ChatTerminal } from "./chat-terminal.ts";
import { EXIT } from "./edge.ts";
import { devicesText, parseDevices } from "./serve-devices.ts";
import { wholeNumber } from "./serve-settings.ts";

/** Where the conversation goes, and how it is ended there. */
interface Partner {
  readonly client: ChatClient;
  readonly about: string;
  readonly close: () => Promise<void>;
}

/** @throws EmaError for bad options, a model that cannot be served, a server that is not there. */
export async function runChat(options: RawChatOptions, isDevicesGiven: boolean): Promise<void> {
  checkCombination(options, isDevicesGiven);
  const wanted = wantedOf(options);
  const partner = options.url === undefined ? await ownServer(options) : runningServer(options);
  try {
    const names = await partner.client.models().catch(asFault);
    const model = options.url === undefined ? names[0]! : nameAmong(names, options.model);
    const { screen, end } = screenOf();
    screen.note(`${model} ${partner.about}; /help for help`);
    const { client } = partner;
    const system = options.system ?? null;
    const session = new ChatSession(client, screen, CLOCK, { ...wanted, model }, system);
    await session.run();
    end();
  } finally {
    await partner.close();
  }
}

const CLOCK: SessionClock = {
  seconds: () => performance.now() / 1000,
  every: (milliseconds, callback) => {
    const timer = setInterval(callback, milliseconds);
    return () => clearInterval(timer);
  },
};

async function ownServer(options: RawChatOptions): Promise<Partner> {
  const deviceBytes = parseDevices(options.devices);
  const modelPath = options.model ?? null;
  const isElastic = options.static !== true;
  const { startChatServer } = await import("./chat-server.ts");
  const server = await startChatServer({ deviceBytes, modelPath, modelName: null, isElastic });
  return {
    client: new ChatClient(server.url, server.apiKey),
    about: `on ${devicesText(deviceBytes)}`,
    close: () => server.close(),
  };
}

function runningServer({ url = "", apiKey }: RawChatOptions): Partner {
  const key = apiKey ?? process.env["EMA_API_KEY"] ?? "";
  const client = new ChatClient(url, key === "" ? null : key);
  return { client, about: `at ${url}`, close: () => Promise.resolve() };
}

/** @returns the screen that fits stdin and stdout, and what to do when the chat is over. */
function screenOf(): { screen: ChatScreen; end: () => void } {
  const { stdin, stdout, stderr } = process;
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  const { NO_COLOR } = process.env;
  const paint = createPaint(isTerminal && (NO_COLOR === undefined || NO_COLOR === ""));
  if (isTerminal) return { screen: new ChatTerminal(stdin, stdout, paint), end: () => {} };
  const pipe = new ChatPipe(stdin, stdout, stderr, paint);
  const interrupt = (): void => {
    if (!pipe.interrupt()) process.exit(EXIT.ok);
  };
  process.on("SIGINT", interrupt);
  const end = (): void => {
    process.off("SIGINT", interrupt);
    // A script that pipes messages wants to know that one of them was refused.
    if (pipe.hasFailed) process.exitCode = EXIT.systemFailed;
  };
  return { screen: pipe, end };
}

function checkCombination(options: RawChatOptions, isDevicesGiven: boolean): void {
  if (options.url === undefined) {
    if (options.apiKey !== undefined) throw fault("--api-key needs --url");
    return;
  }
  if (isDevicesGiven) throw fault("--devices does not go with --url: that server has its own");
  if (options.static === true) throw fault("--static does not go with --url");
  if (!/^https?:\/\/[^\s]+$/.test(options.url) || !URL.canParse(options.url)) {
    throw fault(`--url "${options.url}": expected an address like http://127.0.0.1:8000`);
  }
}

function wantedOf(options: RawChatOptions): Omit<ChatOptions, "model"> {
  const { temperature, maxTokens, seed } = options;
  const degree = temperature.trim() === "" ? NaN : Number(temperature);
  if (!(degree >= 0 && degree <= 2)) {
    throw fault(`--temperature "${temperature}": expected a number from 0 to 2`);
  }
  return {
    temperature: degree,
    outputTokensMax: maxTokens === undefined ? null : wholeNumber("--max-tokens", maxTokens, 1),
    seed: seed === undefined ? null : wholeNumber("--seed", seed, 0),
  };
}

function nameAmong(names: readonly string[], wanted: string | undefined): string {
  const name = wanted ?? names[0];
  if (name !== undefined && names.includes(name)) return name;
  throw fault(`--model "${wanted ?? ""}": the server has ${names.join(", ") || "no models"}`);
}

function asFault(error: unknown): never {
  if (!(error instanceof ChatRefusal)) throw error;
  throw new EmaError("E_CONNECT", `the server refuses: ${error.message}`);
}

function fault(message: string): EmaError {
  return new EmaError("E_ARGUMENT", message);
}
