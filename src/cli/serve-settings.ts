/**
 * What `ema serve` was told, checked: from commander's texts to numbers and names.
 *
 * Called by the command's run. Pure: the environment's key is an argument. What is wrong is said
 * with the option's name and what was expected.
 */

import { EmaError, parseBytes } from "../base/index.ts";
import { SERVER_LIMITS } from "../server/index.ts";
import { serveAddress, type ServeAddress } from "./serve-address.ts";
import type { RawServeOptions } from "./serve-command.ts";
import { parseDevices } from "./serve-devices.ts";

export const LOG_LEVELS = ["silent", "error", "warn", "info", "debug"] as const;

export interface ServeSettings {
  readonly deviceBytes: readonly number[];
  /** null: the model that comes with the project. */
  readonly modelPath: string | null;
  /** null: what the model calls itself. */
  readonly modelName: string | null;
  readonly isElastic: boolean;
  readonly address: ServeAddress;
  readonly requestsMax: number;
  readonly waitingMax: number;
  /** Choices of one request: they enter an engine's queue together, or never. */
  readonly choicesMax: number;
  readonly bodyBytesMax: number;
  readonly graceMs: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** @param keyVariable what EMA_API_KEY says. @throws EmaError E_ARGUMENT */
export function serveSettings(
  options: RawServeOptions,
  keyVariable: string | undefined,
): ServeSettings {
  const logLevel = LOG_LEVELS.find((level) => level === options.logLevel);
  if (logLevel === undefined) {
    throw fault(`--log-level "${options.logLevel}": expected ${LOG_LEVELS.join(", ")}`);
  }
  const waitingMax = wholeNumber("--max-waiting", options.maxWaiting, 1);
  return {
    deviceBytes: parseDevices(options.devices),
    modelPath: options.model ?? null,
    modelName: options.name === undefined ? null : nameOf(options.name),
    isElastic: options.static !== true,
    address: serveAddress(options.host, options.port, options.apiKey, keyVariable),
    requestsMax: wholeNumber("--max-requests", options.maxRequests, 1),
    waitingMax,
    choicesMax: Math.min(waitingMax, SERVER_LIMITS.choicesMax),
    bodyBytesMax: bodyBytesOf(options.maxBody),
    graceMs: wholeNumber("--grace", options.grace, 0) * 1000,
    logLevel,
  };
}

/** Names go into addresses, metrics and logs. */
function nameOf(text: string): string {
  if (/^[\w.:/-]{1,100}$/.test(text)) return text;
  throw fault(`--name "${text}": expected up to 100 letters, digits and . : / _ -`);
}

/** Requests are held in memory while they are read. */
const BODY_BYTES_MAX = 256 * 1024 ** 2;

function bodyBytesOf(text: string): number {
  const bytes = /[A-Za-z]/.test(text) ? parseBytes(text) : null;
  if (bytes !== null && bytes >= 1024 && bytes <= BODY_BYTES_MAX) return bytes;
  throw fault(`--max-body "${text}": expected a size from 1KiB to 256MiB`);
}

/** Digits only: `1e3`, `3.5`, `NaN`, `-1` and the empty text are all refused. */
export function wholeNumber(option: string, text: string, least: number): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (value >= least) return value;
  throw fault(`${option} "${text}": expected a whole number from ${least} to 999999`);
}

function fault(message: string): EmaError {
  return new EmaError("E_ARGUMENT", message);
}
