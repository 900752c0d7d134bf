/**
 * The body of POST /v1/chat/completions.
 *
 * Used by its route and by the OpenAPI document. Messages are text: images, audio and tools are
 * refused by name in refuse-unsupported.ts.
 */

import { z } from "@hono/zod-openapi";
import { SAMPLING_FIELDS, TOP_LOGPROBS_MAX } from "./sampling-schema.ts";

const textPart = z
  .looseObject({
    type: z.literal("text", { error: 'only parts of type "text" are supported' }),
    text: z.string(),
  })
  .openapi("TextPart");

const ROLES = ["system", "developer", "user", "assistant"] as const;

const message = z
  .looseObject({
    role: z.enum(ROLES, { error: `expected one of ${ROLES.join(", ")}` }),
    content: z.union([z.string(), z.array(textPart)], {
      error: 'expected a text or an array of parts of type "text"',
    }),
  })
  .openapi("ChatMessage");

export const CHAT_REQUEST = z
  .looseObject({
    ...SAMPLING_FIELDS,
    messages: z.array(message).min(1, "must not be empty"),
    max_completion_tokens: z
      .int()
      .min(1)
      .nullish()
      .openapi({ description: "What the context leaves, unless given." }),
    max_tokens: z
      .int()
      .min(1)
      .nullish()
      .openapi({ description: "The older name of max_completion_tokens, which wins over it." }),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.int().min(0).max(TOP_LOGPROBS_MAX).nullish(),
  })
  .openapi("ChatCompletionRequest");

export type ChatRequest = z.infer<typeof CHAT_REQUEST>;
