/** The trained model of 260K parameters says, greedily, what llama2.c documents that it says. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { likeliest, loadCheckpoint } from "../../src/model/index.ts";
import { sharedDataPath } from "../shared-data.ts";
import { Decoding } from "./decoding.ts";

interface Golden {
  readonly token_ids: readonly number[];
  readonly text: string;
}

const model = sharedDataPath("tinymodel/stories260K.bin");
const tokenizer = sharedDataPath("tinymodel/tok512.bin");
const goldenPath = sharedDataPath("tinymodel/golden_greedy.json");
const isThere = model !== null && tokenizer !== null && goldenPath !== null;

it.skipIf(!isThere)("stories260K decodes greedily, id for id", async () => {
  const golden = JSON.parse(readFileSync(goldenPath!, "utf8")) as Golden;
  const checkpoint = await loadCheckpoint(model!);
  const decoding = new Decoding(checkpoint.config, checkpoint.weights, {
    sequences: 1,
    contextTokens: 256,
    batchTokensMax: 1,
    blockTokens: 16,
  });
  checkpoint.weights.close();
  const ids = [checkpoint.tokenizer.beginId!];
  while (ids.length < golden.token_ids.length) {
    const first = ids.length - 1;
    const [logits] = decoding.step([{ sequence: 0, first, ids: [ids[first]!] }], 2);
    ids.push(likeliest(logits!));
  }
  expect(ids).toEqual(golden.token_ids);
  expect(checkpoint.tokenizer.decode(Int32Array.from(ids))).toBe(golden.text.trimStart());
  const encoded = [...checkpoint.tokenizer.encode("Once upon a time", true)];
  expect(encoded).toEqual(golden.token_ids.slice(1, 1 + encoded.length));
});
