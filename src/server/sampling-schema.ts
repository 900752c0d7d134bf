/**
 * What /v1/completions and /v1/chat/completions have in common, as a schema.
 *
 * Used by both request schemas and, through them, by the OpenAPI document. Keys that no schema
 * names pass and are ignored, as OpenAI-compatible servers do; keys that would change the answer
 * and are not built are refused by refuse-unsupported.ts. `null` means the default everywhere.
 *
 * Ranges are OpenAI's (API reference, completions and chat completions).
 */

import { z } from "@hono/zod-openapi";

const STOPS_MAX = 4;
export const TOP_LOGPROBS_MAX = 20;

const stopText = z.string().min(1, "must not be empty");

/** Spread into the object schemas. */
export const SAMPLING_FIELDS = {
  model: z.string().openapi({ description: "A model's name, or an engine's own name." }),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullish()
    .openapi({ description: "0: the likeliest token each time. 1 unless given." }),
  top_p: z.number().min(0).max(1).nullish().openapi({ description: "1 unless given." }),
  seed: z
    .int()
    .nullish()
    .openapi({ description: "Equal seeds give equal tokens. Choice i draws with seed+i." }),
  n: z.int().min(1).nullish().openapi({ description: "Choices a prompt, 1 unless given." }),
  stop: z
    .union([stopText, z.array(stopText).max(STOPS_MAX)], {
      error: `expected a text or an array of at most ${STOPS_MAX} texts, none of them empty`,
    })
    .nullish()
    .openapi({ description: "The answer ends before the first of these texts." }),
  stream: z.boolean().nullish().openapi({ description: "Answer as server-sent events." }),
  stream_options: z
    .looseObject({
      include_usage: z
        .boolean()
        .nullish()
        .openapi({ description: "A last event with the usage, and no choices." }),
    })
    .nullish(),
  ignore_eos: z
    .boolean()
    .nullish()
    .openapi({ description: "As in vLLM: the model's own end of text does not end the answer." }),
  stop_token_ids: z
    .array(z.int().min(0))
    .max(64)
    .nullish()
    .openapi({ description: "As in vLLM: more token ids that end the answer." }),
};

/** The part of a parsed request that says how to sample and when to stop. */
export interface SamplingFields {
  readonly model: string;
  readonly temperature?: number | null | undefined;
  readonly top_p?: number | null | undefined;
  readonly seed?: number | null | undefined;
  readonly n?: number | null | undefined;
  readonly stop?: string | string[] | null | undefined;
  readonly stream?: boolean | null | undefined;
  readonly stream_options?: { include_usage?: boolean | null | undefined } | null | undefined;
  readonly ignore_eos?: boolean | null | undefined;
  readonly stop_token_ids?: number[] | null | undefined;
}
