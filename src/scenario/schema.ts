/**
 * The keys of a scenario and what each takes, as strict schemas (docs/SCENARIOS.md in words).
 *
 * Used through the checker by the files that resolve each part. Values come out in our units (a
 * share, bytes, seconds); defaults are applied later, in defaults.ts, because a system's pool lies
 * over the scenario's. Parts that take several forms (server, systems, workload, lengths) are
 * `unknown` here and are read by a schema that their own content chooses.
 */

import { z } from "zod";
import { parseBytes, parsePercent } from "../base/index.ts";
import { field } from "./checker.ts";
import type { AccessMode, Headroom, Interference, MemoryLimit, SystemBase } from "./scenario.ts";

export const SYSTEM_BASES: readonly SystemBase[] = ["static", "double", "ema"];

/** Simulated time is kept in nanoseconds below 2^53: 104 days. A million seconds is 11 days. */
const SECONDS_MAX = 1e6;
const TOKENS_MAX = 2 ** 31 - 1;
/** The seeds of repeats, at most a thousand, count on from the first. */
const SEED_MAX = Number.MAX_SAFE_INTEGER - 1000;

const isFinite = (value: unknown): value is number => Number.isFinite(value);

const number = (expected: string, accepts: (value: number) => boolean): z.ZodType<number> =>
  field(expected, (value) => (isFinite(value) && accepts(value) ? value : undefined));
const integer = (min: number, max: number, what: string): z.ZodType<number> =>
  number(`${what} from ${min} to ${max}`, (value) => {
    return Number.isInteger(value) && value >= min && value <= max;
  });
const choice = <Name extends string>(names: readonly Name[]): z.ZodType<Name> =>
  field(`one of ${names.join(", ")}`, (value) => names.find((name) => name === value));

const secondsAbove0 = number("seconds above 0, at most 1e6", (s) => s > 0 && s <= SECONDS_MAX);
const secondsFrom0 = number("seconds from 0 to 1e6", (s) => s >= 0 && s <= SECONDS_MAX);
const tokens = integer(1, TOKENS_MAX, "a whole number of tokens");
const rate = number("requests a second, above 0, at most 1e6", (r) => r > 0 && r <= 1e6);

const NAME = /^[\p{L}\p{N}][^\p{C}=]{0,63}$/u;

/** Starts with a letter or digit, so that no key of an object's own making can be meant. */
export const nameField = field("a name of 1 to 64 characters that starts with a letter or digit", (
  value,
) => {
  const isName = typeof value === "string" && NAME.test(value);
  return isName && !/^\d+$/.test(value) ? value : undefined;
});
/** Numbers too: a tenant is often a customer's number. */
const tenantField = field("a name of 1 to 64 characters that starts with a letter or digit", (
  value,
) => {
  const text = Number.isSafeInteger(value) && (value as number) >= 0 ? String(value) : value;
  return typeof text === "string" && NAME.test(text) ? text : undefined;
});
export const textField = field("text", (value) =>
  typeof value === "string" && value !== "" ? value : undefined,
);

const LIMIT_FORMS = "a percentage of the engine's own KV memory (100%), bytes (8GB) or none";

function readLimit(value: unknown): MemoryLimit | undefined {
  if (value === "none") return { kind: "none" };
  if (typeof value === "string") {
    const share = parsePercent(value);
    if (share !== null) return Number.isFinite(share) ? { kind: "share", share } : undefined;
  }
  const bytes = readBytes(value);
  return bytes === undefined ? undefined : { kind: "bytes", bytes };
}

function readBytes(value: unknown): number | undefined {
  if (typeof value === "string") return parseBytes(value) ?? undefined;
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function readSize(value: unknown): number | undefined {
  const bytes = readBytes(value);
  return bytes === 0 ? undefined : bytes;
}

/** As a size, but a number may have a fraction: nobody counts the bytes of a second. */
function readSpeed(value: unknown): number | undefined {
  const isSpeed = isFinite(value) && value > 0 && value <= Number.MAX_SAFE_INTEGER;
  return typeof value === "number" ? (isSpeed ? value : undefined) : readSize(value);
}

function readLenderShare(value: unknown): { share: number | null } | undefined {
  if (value === "none") return { share: null };
  const share = value === 0 ? 0 : typeof value === "string" ? parsePercent(value) : null;
  return share !== null && share <= 1 ? { share } : undefined;
}

/** @returns seconds of `2.3us`, `7.5 us`, `0.1 ms` or a plain number of seconds. */
function readDuration(value: unknown): number | undefined {
  if (typeof value === "number") return value >= 0 && value <= 1 ? value : undefined;
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)\s*(s|ms|us|ns)$/.exec(value) : null;
  if (match === null) return undefined;
  const divisor = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 }[match[2] as "s" | "ms" | "us" | "ns"];
  const seconds = Number(match[1]) / divisor;
  return seconds <= 1 ? seconds : undefined;
}

function readShare(value: unknown): number | undefined {
  const match = typeof value === "string" ? /^(\d{1,9})\/(\d{1,9})$/.exec(value.trim()) : null;
  const share = match === null ? value : Number(match[1]) / Number(match[2]);
  return isFinite(share) && share > 0 && share <= 1 ? share : undefined;
}

const duration = field("a duration of at most 1 s like 2.3us, or seconds", readDuration);

const POOL_KEYS = {
  borrowLimit: field(LIMIT_FORMS, readLimit).optional(),
  headroom: field(`auto, ${LIMIT_FORMS}`, (value): Headroom | undefined =>
    value === "auto" ? "auto" : readLimit(value),
  ).optional(),
  lenderShare: field(
    "a percentage of the lender's HBM bandwidth (2%) or none",
    readLenderShare,
  ).optional(),
  sliceBytes: field("a size above 0 like 64MiB", readSize).optional(),
  interference: choice<Interference>(["subtractive", "ceiling"]).optional(),
  accessMode: choice<AccessMode>(["staged", "direct", "mixed"]).optional(),
  copyCost: duration.optional(),
};

/** A system's own pool settings; `linkLatency` belongs to the server, hence to the scenario. */
export const SYSTEM_POOL = z.strictObject(POOL_KEYS);
export const POOL = z.strictObject({ ...POOL_KEYS, linkLatency: duration.optional() });
export type PoolKeys = z.output<typeof SYSTEM_POOL>;

export const SYSTEM = z.strictObject({
  name: nameField,
  base: choice(SYSTEM_BASES).optional(),
  pool: SYSTEM_POOL.optional(),
});

export const SCENARIO = z.strictObject({
  name: nameField.optional(),
  server: z.unknown().optional(),
  seed: integer(0, SEED_MAX, "a whole number").optional(),
  slo: z
    .strictObject({
      ttftSeconds: secondsAbove0.optional(),
      tpotSeconds: secondsAbove0.optional(),
    })
    .optional(),
  systems: z.array(z.unknown()).min(1).optional(),
  pool: POOL.optional(),
  engines: z.array(z.unknown()).min(1),
});

export const ENGINE = z.strictObject({
  name: nameField,
  gpus: z.array(integer(0, 4095, "a GPU's index")).min(1),
  model: textField,
  tenant: tenantField.optional(),
  blockTokens: integer(1, 4096, "a whole number of tokens").optional(),
  maxBatchTokens: integer(1, 1 << 20, "a whole number of tokens").optional(),
  maxSequences: integer(1, 1 << 16, "a whole number of sequences").optional(),
  workload: z.unknown().optional(),
});

export const SERVER = z.strictObject({
  gpus: z.array(textField).min(1),
  links: z.unknown().optional(),
});
export const LINK = z.strictObject({
  from: integer(0, 4095, "a GPU's index"),
  to: integer(0, 4095, "a GPU's index"),
  bytesPerSecond: field("bytes a second above 0, like 276GB or 2.76e11", readSpeed),
  latencySeconds: number("seconds from 0 to 1", (s) => s >= 0 && s <= 1).optional(),
});

/** A workload is read by the schema of its form: `trace`, or what `arrivals` says. */
export const TRACE = z.strictObject({
  trace: textField,
  share: field("a share above 0, at most 1, like 1/8 or 0.125", readShare).optional(),
  rateScale: number("a factor above 0, at most 1e6", (f) => f > 0 && f <= 1e6).optional(),
  offsetSeconds: secondsFrom0.optional(),
});
export const POISSON = z.strictObject({
  arrivals: z.literal("poisson"),
  rate,
  seconds: secondsAbove0,
  offsetSeconds: secondsFrom0.optional(),
  lengths: z.unknown().optional(),
});
export const ON_OFF = z.strictObject({
  arrivals: z.literal("on-off"),
  rate,
  onSeconds: secondsAbove0,
  offSeconds: secondsFrom0,
  seconds: secondsAbove0,
  offsetSeconds: secondsFrom0.optional(),
  lengths: z.unknown().optional(),
});
export const BACKLOG = z.strictObject({
  arrivals: z.literal("backlog"),
  requests: integer(1, 2_000_000, "a whole number of requests"),
  offsetSeconds: secondsFrom0.optional(),
  lengths: z.unknown().optional(),
});
export const LIST = z.strictObject({
  arrivals: z.literal("list"),
  requests: z.array(z.strictObject({ at: secondsFrom0, prompt: tokens, output: tokens })).min(1),
  offsetSeconds: secondsFrom0.optional(),
});
export const LENGTHS = z.strictObject({
  prompt: number("tokens above 0", (t) => t > 0 && t <= TOKENS_MAX),
  output: number("tokens above 0", (t) => t > 0 && t <= TOKENS_MAX),
  maxPrompt: tokens.optional(),
  sigma: number("a number from 0 to 4", (s) => s >= 0 && s <= 4).optional(),
  fixed: field("true or false", (v) => (typeof v === "boolean" ? v : undefined)).optional(),
});
