/**
 * Checked values out of what a checkpoint says about itself: JSON objects and GGUF pairs.
 *
 * Used by the readers that build configs and tokenizers. Each failure names the file and the key,
 * what is there and what was expected.
 */

import { EmaError } from "../base/index.ts";

export class DescribedFields {
  readonly where: string;
  readonly #values: ReadonlyMap<string, unknown>;

  /** @param where the file, or the file and the place in it */
  constructor(where: string, values: ReadonlyMap<string, unknown>) {
    this.where = where;
    this.#values = values;
  }

  /** @throws EmaError E_CHECKPOINT unless the value is an object */
  static ofObject(where: string, value: unknown): DescribedFields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new EmaError("E_CHECKPOINT", `${where}: expected an object, found ${shown(value)}`);
    }
    return new DescribedFields(where, new Map(Object.entries(value)));
  }

  entries(): IterableIterator<[string, unknown]> {
    return this.#values.entries();
  }

  /** The value as it is; null where it is absent. */
  raw(key: string): unknown {
    return this.#values.get(key) ?? null;
  }

  /** @returns null where the key is absent */
  fields(key: string): DescribedFields | null {
    const value = this.raw(key);
    return value === null ? null : DescribedFields.ofObject(`${this.where}: ${key}`, value);
  }

  optionalText(key: string): string | null {
    const value = this.raw(key);
    if (value === null || typeof value === "string") return value;
    throw this.wrong(key, "a text");
  }

  optionalFlag(key: string): boolean | null {
    const value = this.raw(key);
    if (value === null || typeof value === "boolean") return value;
    throw this.wrong(key, "true or false");
  }

  /** A finite number. */
  optionalNumber(key: string): number | null {
    const value = this.raw(key);
    if (value === null || (typeof value === "number" && Number.isFinite(value))) return value;
    if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) return Number(value);
    throw this.wrong(key, "a number");
  }

  number(key: string): number {
    return this.#present(key, this.optionalNumber(key));
  }

  optionalWhole(key: string): number | null {
    const value = this.optionalNumber(key);
    if (value === null || Number.isSafeInteger(value)) return value;
    throw this.wrong(key, "a whole number");
  }

  whole(key: string): number {
    return this.#present(key, this.optionalWhole(key));
  }

  text(key: string): string {
    return this.#present(key, this.optionalText(key));
  }

  /** An error about the value of `key`, to be thrown. */
  wrong(key: string, expected: string): EmaError {
    const found = shown(this.raw(key));
    return new EmaError("E_CHECKPOINT", `${this.where}: ${key} is ${found}, expected ${expected}`);
  }

  /** An error about a value that is right but asks for something that is not built. */
  unsupported(key: string, expected: string): EmaError {
    const what = `${key} is ${shown(this.raw(key))}, which is not built; expected ${expected}`;
    return new EmaError("E_MODEL_UNSUPPORTED", `${this.where}: ${what}`);
  }

  #present<Value>(key: string, value: Value | null): Value {
    if (value !== null) return value;
    throw new EmaError("E_CHECKPOINT", `${this.where}: no ${key}`);
  }
}

/** A value in one short line. */
function shown(value: unknown): string {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
