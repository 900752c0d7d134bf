/**
 * Runs `ema serve`: devices, engines, the HTTP server, and their end at a signal.
 *
 * Loaded by the command when it runs. A composition root: it is what knows the clock, chance, the
 * environment, stdout and signals for the server.
 *
 *     SERVING --first signal--> FINISHING --all answered, or grace over--> exit 0
 *        |                          +-------second signal---------------> exit 128 + its number
 */

import { randomInt, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { pino, type Logger } from "pino";
import {
  HttpServer,
  SERVER_LIMITS,
  serverContext,
  type ServerContext,
  type ServerLimits,
} from "../server/index.ts";
import { clientUrl, curlLine } from "./serve-address.ts";
import type { RawServeOptions } from "./serve-command.ts";
import { devicesText } from "./serve-devices.ts";
import { startEngines, type RunningEngines } from "./serve-engines.ts";
import { serveSettings } from "./serve-settings.ts";

/** @throws EmaError for bad options, a model that cannot be read or served, an address taken. */
export async function runServe(options: RawServeOptions): Promise<void> {
  const settings = serveSettings(options, process.env["EMA_API_KEY"]);
  const log = pino({ level: settings.logLevel }, pino.destination(2));
  const onLoss = (message: string): boolean => process.stderr.write(`ema: ${message}\n`);
  const engines = await startEngines({ ...settings, onLoss });
  try {
    const { host, port, apiKey } = settings.address;
    const { bodyBytesMax, requestsMax, choicesMax } = settings;
    const limits = { bodyBytesMax, requestsMax, choicesMax };
    const context = serverContextOf(engines, apiKey, limits, log);
    const server = await HttpServer.listen(context, host, port);
    const url = clientUrl(host, server.port);
    const { modelName } = engines.engines[0]!;
    for (const note of engines.notes) process.stderr.write(`note: ${note}\n`);
    process.stdout.write(
      `ema: ${modelName} on ${devicesText(settings.deviceBytes)}, ${url}/v1\n` +
        `try: ${curlLine(url, modelName, apiKey !== null)}\n`,
    );
    await finished(server, context, settings.graceMs);
  } finally {
    await engines.close();
  }
}

/** A server's parts, with the clock and the chance of this machine. */
export function serverContextOf(
  { engines }: RunningEngines,
  apiKey: string | null,
  limits: Partial<ServerLimits>,
  log: Logger,
): ServerContext {
  return serverContext({
    engines,
    apiKey,
    limits: { ...SERVER_LIMITS, ...limits },
    version: packageVersion(),
    unixSeconds: () => Math.floor(Date.now() / 1000),
    clockSeconds: () => performance.now() / 1000,
    drawSeed: () => randomInt(2 ** 32),
    drawId: () => randomUUID().replaceAll("-", ""),
    log,
    onBug: (error) => {
      // Behind the answer and past whoever could catch it: edge.ts reports it and exits.
      setImmediate(() => {
        throw error;
      });
    },
  });
}

/** Resolves when a signal has come and everything was answered or given up. */
async function finished(
  server: HttpServer,
  { desk }: ServerContext,
  graceMs: number,
): Promise<void> {
  const signal = await nextSignal();
  const { requestCount } = desk;
  const what = requestCount === 1 ? "1 request" : `${requestCount} requests`;
  if (requestCount > 0) {
    process.stderr.write(
      `ema: ${signal}: finishing ${what}, ${graceMs / 1000} s at most; once more ends at once\n`,
    );
  }
  const closed = server.close(graceMs);
  const second = nextSignal().then((name) => process.exit(128 + constants.signals[name]));
  await Promise.race([closed, second]);
}

/** The next SIGINT or SIGTERM. Listening replaces Node's own way of ending at once. */
function nextSignal(): Promise<"SIGINT" | "SIGTERM"> {
  return new Promise((resolve) => {
    const take = (signal: NodeJS.Signals): void => {
      process.off("SIGINT", take);
      process.off("SIGTERM", take);
      resolve(signal as "SIGINT" | "SIGTERM");
    };
    process.on("SIGINT", take);
    process.on("SIGTERM", take);
  });
}

/** package.json lies two folders up from src/cli and from dist/cli alike. */
function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
