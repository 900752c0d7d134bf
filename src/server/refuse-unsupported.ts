/**
 * Options of OpenAI's API that would change the answer and are not built: refused by name.
 *
 * Called by both routes before the schema looks at the body, so that the message says what is
 * missing instead of which type was expected. A value that asks for nothing (0, "none", an empty
 * array, "text") passes. Options that change no text (user, store, metadata, service_tier, ...)
 * are ignored like every unknown key.
 */

import { badRequest } from "./api-error.ts";

interface Unsupported {
  readonly key: string;
  /** The value asks for nothing that is missing here. */
  readonly isHarmless: (value: unknown) => boolean;
  readonly message: string;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;
const isZero = (value: unknown): boolean => value === 0;
const isNone = (value: unknown): boolean => value === "none" || value === "auto";
const never = (): boolean => false;

const PENALTY = "penalties are not supported; leave it out or send 0";
const TOOLS = "tools are not supported; leave it out";

const UNSUPPORTED: readonly Unsupported[] = [
  { key: "frequency_penalty", isHarmless: isZero, message: PENALTY },
  { key: "presence_penalty", isHarmless: isZero, message: PENALTY },
  { key: "logit_bias", isHarmless: isEmpty, message: "token biases are not supported" },
  { key: "suffix", isHarmless: (value) => value === "", message: "insertion is not supported" },
  {
    key: "best_of",
    isHarmless: (value) => value === 1,
    message: "choosing among candidates is not supported; use n",
  },
  { key: "tools", isHarmless: isEmpty, message: TOOLS },
  { key: "functions", isHarmless: isEmpty, message: TOOLS },
  { key: "tool_choice", isHarmless: isNone, message: TOOLS },
  { key: "function_call", isHarmless: isNone, message: TOOLS },
  {
    key: "response_format",
    isHarmless: (value) => (value as { type?: unknown }).type === "text",
    message: 'only {"type": "text"} is supported',
  },
  {
    key: "modalities",
    isHarmless: (value) => Array.isArray(value) && value.length === 1 && value[0] === "text",
    message: 'only ["text"] is supported',
  },
  { key: "audio", isHarmless: never, message: "audio is not supported" },
  { key: "web_search_options", isHarmless: never, message: "web search is not supported" },
];

/** @throws ApiError 400 that names the first option that is not built. */
export function refuseUnsupported(body: Readonly<Record<string, unknown>>): void {
  for (const { key, isHarmless, message } of UNSUPPORTED) {
    const value = Object.hasOwn(body, key) ? body[key] : undefined;
    if (value === undefined || value === null || isHarmless(value)) continue;
    throw badRequest(`'${key}': ${message}`, key, "unsupported_parameter");
  }
}
