/**
 * A tokenizer whose tokens cut characters anywhere: all bytes, and pieces of texts that tests use.
 *
 * Greedy from the left; `scatter` cuts a text at random instead, as a model might generate it.
 */

import type { Prng } from "../../src/base/index.ts";
import type { Tokenizer } from "../../src/model/index.ts";

export const BEGIN_ID = 256;
export const END_ID = 257;

const TEXTS = ["Hello", ", ", "world", " the", " END", "\n\n", "你好", "世界", "🚀", "é"];

/** Bytes that begin or end within a character. */
const FRAGMENTS = [
  [0xf0, 0x9f],
  [0x9a, 0x80],
  [0xe4, 0xbd],
  [0xa0, 0xe5],
];

export class FakeTokenizer implements Tokenizer {
  readonly #tokens: readonly Uint8Array[];
  /** By their first byte, the longest first. */
  readonly #byFirstByte: readonly (readonly number[])[];
  readonly beginId = BEGIN_ID;
  readonly endIds = [END_ID];

  constructor() {
    const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
    const none = new Uint8Array(0);
    const texts = TEXTS.map((text) => new TextEncoder().encode(text));
    const tokens = [...bytes, none, none, ...texts, ...FRAGMENTS.map((f) => Uint8Array.from(f))];
    this.#tokens = tokens;
    const ids = tokens.map((_, id) => id);
    this.#byFirstByte = bytes.map((_, byte) =>
      ids
        .filter((id) => tokens[id]![0] === byte)
        .sort((a, b) => tokens[b]!.length - tokens[a]!.length),
    );
  }

  get vocabSize(): number {
    return this.#tokens.length;
  }

  encode(text: string): Int32Array {
    return this.#cut(new TextEncoder().encode(text), (fitting) => fitting[0]!);
  }

  /** Any of the ways in which tokens make up `text`. */
  scatter(text: string, chance: Prng): Int32Array {
    const choose = (fitting: readonly number[]) => fitting[chance.nextBelow(fitting.length)]!;
    return this.#cut(new TextEncoder().encode(text), choose);
  }

  bytesOf(id: number): Uint8Array {
    return this.#tokens[id]!;
  }

  decode(ids: Int32Array): string {
    const bytes = Array.from(ids, (id) => [...this.bytesOf(id)]).flat();
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  }

  #cut(bytes: Uint8Array, choose: (fitting: readonly number[]) => number): Int32Array {
    const ids: number[] = [];
    for (let at = 0; at < bytes.length; at += this.#tokens[ids.at(-1)!]!.length) {
      const fitting = this.#byFirstByte[bytes[at]!]!.filter((id) =>
        this.#tokens[id]!.every((byte, i) => byte === bytes[at + i]),
      );
      ids.push(choose(fitting));
    }
    return Int32Array.from(ids);
  }
}
