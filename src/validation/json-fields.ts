/**
 * Reads checked values out of parsed JSON: each failure names the file, the place and the key.
 *
 * Used by the readers of the request log and of the meta file. It knows neither.
 */

import { EmaError } from "../base/index.ts";

/** An object of a file: where it stands, for messages, and its keys. */
export class JsonFields {
  readonly where: string;
  readonly #values: Readonly<Record<string, unknown>>;

  /** @throws EmaError E_TRACE unless the value is an object. */
  constructor(where: string, value: unknown) {
    this.where = where;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new EmaError("E_TRACE", `${where}: expected an object, found ${shown(value)}`);
    }
    this.#values = value as Readonly<Record<string, unknown>>;
  }

  /** @returns `null` where the key is absent or null. */
  optionalFields(key: string): JsonFields | null {
    const value = this.#values[key] ?? null;
    return value === null ? null : new JsonFields(`${this.where}: ${key}`, value);
  }

  fields(key: string): JsonFields {
    const found = this.optionalFields(key);
    if (found === null) throw this.#missing(key);
    return found;
  }

  optionalText(key: string): string | null {
    const value = this.#values[key] ?? null;
    if (value === null || typeof value === "string") return value;
    throw this.#wrong(key, "a text");
  }

  text(key: string): string {
    const value = this.optionalText(key);
    if (value === null) throw this.#missing(key);
    return value;
  }

  optionalFlag(key: string): boolean | null {
    const value = this.#values[key] ?? null;
    if (value === null || typeof value === "boolean") return value;
    throw this.#wrong(key, "true or false");
  }

  /** A finite number from `least` on. */
  optionalNumber(key: string, least: number): number | null {
    const value = this.#values[key] ?? null;
    if (value === null) return null;
    if (typeof value === "number" && Number.isFinite(value) && value >= least) return value;
    throw this.#wrong(key, `a number of at least ${least}`);
  }

  number(key: string, least: number): number {
    const value = this.optionalNumber(key, least);
    if (value === null) throw this.#missing(key);
    return value;
  }

  optionalWhole(key: string, least: number): number | null {
    const value = this.optionalNumber(key, least);
    if (value === null || Number.isSafeInteger(value)) return value;
    throw this.#wrong(key, "a whole number");
  }

  whole(key: string, least: number): number {
    const value = this.optionalWhole(key, least);
    if (value === null) throw this.#missing(key);
    return value;
  }

  #missing(key: string): EmaError {
    return new EmaError("E_TRACE", `${this.where}: no ${key}`);
  }

  #wrong(key: string, expected: string): EmaError {
    const found = shown(this.#values[key]);
    return new EmaError("E_TRACE", `${this.where}: ${key} is ${found}, expected ${expected}`);
  }
}

/** @throws EmaError E_TRACE with the parser's reason. */
export function parseJson(where: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EmaError("E_TRACE", `${where}: no JSON (${reason})`, { cause });
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}
