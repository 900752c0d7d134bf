/**
 * The traces a scenario names: each file read once, its requests dealt out by shares.
 *
 * Called while workloads are resolved. `@2` is the second `--trace`; anything else is a path,
 * looked for beside the scenario, then in the working directory. Engines that give a `share` are
 * dealt the requests of one trace, in the order of the scenario; one without a share replays all of
 * it, beside the others.
 *
 * Invariant: two ways of writing one path are one trace; `@1` and `@2` are two, even of one file.
 */

import { resolve } from "node:path";
import { EmaError } from "../base/index.ts";
import { dealShares, readTrace, type RequestTable, type TraceFile } from "../workload/index.ts";

/** Decimal shares are summed in binary. */
const EPSILON = 1e-9;

export class TraceLibrary {
  readonly #options: readonly string[];
  readonly #locate: (path: string) => string;
  readonly #files = new Map<string, TraceFile>();
  readonly #shares = new Map<string, number[]>();
  readonly #dealt = new Map<string, readonly RequestTable[]>();
  readonly #usedOptions = new Set<number>();

  /** @param options the files of `--trace`, in order. */
  constructor(options: readonly string[], locate: (path: string) => string) {
    this.#options = options;
    this.#locate = locate;
  }

  /** @returns what identifies the trace in the calls below. @throws EmaError */
  open(reference: string): string {
    const match = /^@(\d+)$/.exec(reference);
    const key = match === null ? resolve(this.#locate(reference)) : reference;
    if (match !== null) this.#usedOptions.add(Number(match[1]));
    if (!this.#files.has(key)) {
      const path = match === null ? this.#locate(reference) : this.#option(match[1]!);
      this.#files.set(key, readTrace(path));
    }
    return key;
  }

  file(key: string): TraceFile {
    return this.#files.get(key)!;
  }

  /** @returns the place of this share in the dealing, or `null` when the shares exceed 1. */
  claim(key: string, share: number): number | null {
    const shares = this.#shares.get(key) ?? [];
    const sum = shares.reduce((total, other) => total + other, share);
    if (sum > 1 + EPSILON) return null;
    shares.push(share);
    this.#shares.set(key, shares);
    return shares.length - 1;
  }

  /** Called once all shares are claimed: dealing needs them together. */
  dealtTable(key: string, place: number): RequestTable {
    let tables = this.#dealt.get(key);
    if (tables === undefined) {
      tables = dealShares(this.file(key).table, this.#shares.get(key)!);
      this.#dealt.set(key, tables);
    }
    return tables[place]!;
  }

  /** Rows skipped, and options nobody used. */
  notes(): string[] {
    const skipped = [...this.#files.values()].flatMap(({ label, skipped: { count, samples } }) => {
      if (count === 0) return [];
      const more = count > samples.length ? ", ..." : "";
      return [`trace ${label}: ${count} rows skipped (${samples.join(", ")}${more})`];
    });
    const unused = this.#options.flatMap((path, index) => {
      if (this.#usedOptions.has(index + 1)) return [];
      return [`--trace ${path} is not used: no engine has "@${index + 1}"`];
    });
    return [...skipped, ...unused];
  }

  #option(number: string): string {
    const path = this.#options[Number(number) - 1];
    if (path !== undefined) return path;
    const given = this.#options.length === 0 ? "none is" : `only ${this.#options.length} are`;
    const text = `"@${number}" is the ${number}. --trace FILE, and ${given} given`;
    throw new EmaError("E_ARGUMENT", text);
  }
}
