/** Streams say the same however their bytes are cut: emoji, Chinese, stop strings, noise. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { TextStream } from "../../src/model/index.ts";

function streamed(pieces: readonly Uint8Array[], stops: readonly string[]): string {
  const stream = new TextStream(stops);
  const said = pieces.map((piece) => stream.push(piece));
  return said.join("") + stream.end();
}

/** The definition: read character by character, end before the first stop that is complete. */
function whole(bytes: Uint8Array, stops: readonly string[]): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  for (let end = 1; end <= text.length; end++) {
    const read = text.slice(0, end);
    const found = stops.filter((stop) => stop !== "" && read.endsWith(stop));
    const longest = Math.max(...found.map(({ length }) => length));
    if (found.length > 0) return text.slice(0, end - longest);
  }
  return text;
}

function cutUp(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
  return at.map((start, index) => bytes.subarray(start, at[index + 1] ?? bytes.length));
}

const letters = fc.constantFrom("a", "b", "ab", "\n", "你", "好", "👩‍💻", "🇩🇪", "é", "\uFEFF", " ");
const words = fc.array(letters, { maxLength: 12 }).map((parts) => parts.join(""));
const cuts = fc.array(fc.nat(200), { maxLength: 20 });

it("any text, any stops, any cuts", () => {
  const stops = fc.array(words, { maxLength: 4 });
  fc.assert(
    fc.property(words, stops, cuts, (text, stopList, at) => {
      const bytes = Buffer.from(text);
      expect(streamed(cutUp(bytes, at), stopList)).toBe(whole(bytes, stopList));
    }),
    { numRuns: 2000 },
  );
});

it("noise that is not UTF-8 says the same too", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), cuts, (bytes, at) => {
      expect(streamed(cutUp(bytes, at), ["\uFFFD\uFFFD"])).toBe(whole(bytes, ["\uFFFD\uFFFD"]));
    }),
  );
});

it("a stop string split at each byte is found, and what only looks like it is said", () => {
  const bytes = Buffer.from("我说👩‍💻<停>后");
  for (let cut = 0; cut <= bytes.length; cut++) {
    const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
    expect(streamed(pieces, ["<停>"])).toBe("我说👩‍💻");
    expect(streamed(pieces, ["<停!"])).toBe("我说👩‍💻<停>后");
  }
});

it("says a character as soon as it is whole, and not before", () => {
  const stream = new TextStream(["stop"]);
  const bytes = Buffer.from("好st");
  expect(stream.push(bytes.subarray(0, 2))).toBe("");
  expect(stream.push(bytes.subarray(2, 3))).toBe("好");
  expect(stream.push(bytes.subarray(3))).toBe("");
  expect(stream.push(Buffer.from("ar"))).toBe("star");
  expect(stream.isStopped).toBe(false);
  expect(stream.push(Buffer.from("stop it"))).toBe("");
  expect(stream.isStopped).toBe(true);
  expect(stream.push(Buffer.from("more")) + stream.end()).toBe("");
});

it("of stop strings the one complete first counts, however they overlap", () => {
  const text = Buffer.from("xabcd");
  for (let cut = 0; cut <= text.length; cut++) {
    const pieces = [text.subarray(0, cut), text.subarray(cut)];
    expect(streamed(pieces, ["abcd", "bc"])).toBe("xa");
    expect(streamed(pieces, ["abc", "bc", "c"])).toBe("x");
    expect(streamed(pieces, ["c", "bc", "abc"])).toBe("x");
  }
});
