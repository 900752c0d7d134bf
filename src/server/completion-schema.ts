/**
 * The body of POST /v1/completions.
 *
 * Used by its route and by the OpenAPI document. A prompt is a text or token ids, or an array of
 * either: each of the array's elements is answered by `n` choices.
 */

import { z } from "@hono/zod-openapi";
import { SAMPLING_FIELDS, TOP_LOGPROBS_MAX } from "./sampling-schema.ts";

const ids = z.array(z.int().min(0)).min(1);
// Ids first: what fits none of the other kinds is told item by item, and of ids there are many.
const prompt = z.union([z.string(), ids, z.array(z.string()).min(1), z.array(ids).min(1)], {
  error: "expected a text, an array of texts, an array of token ids, or an array of such arrays",
});

export const COMPLETION_REQUEST = z
  .looseObject({
    ...SAMPLING_FIELDS,
    prompt,
    max_tokens: z.int().min(0).nullish().openapi({ description: "16 unless given." }),
    echo: z.boolean().nullish().openapi({ description: "The answer begins with the prompt." }),
    logprobs: z
      .int()
      .min(0)
      .max(TOP_LOGPROBS_MAX)
      .nullish()
      .openapi({ description: "How many of the likeliest tokens to report beside each token." }),
  })
  .openapi("CompletionRequest");

export type CompletionRequest = z.infer<typeof COMPLETION_REQUEST>;
