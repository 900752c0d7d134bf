/**
 * POST /v1/chat/completions: a conversation in, the assistant's next message out.
 *
 * Mounted by the application. It knows the request's form; rendering is the model's template, and
 * generating is the desk's.
 */

import type { Context } from "hono";
import type { PromptMessage } from "../model/index.ts";
import { badRequest, unknownModel } from "./api-error.ts";
import {
  chatAnswer,
  chatChunks,
  chatOpening,
  chatUsageChunk,
  usageOf,
  type AnswerHead,
} from "./chat-answer.ts";
import { CHAT_REQUEST, type ChatRequest } from "./chat-schema.ts";
import type { ChoiceSet } from "./choice-set.ts";
import { planGenerations, stopsOf } from "./generation-plan.ts";
import { answerRequest, type Answering } from "./answer-request.ts";
import { readBody } from "./request-body.ts";
import type { ServerContext } from "./server-context.ts";

/** @throws ApiError for whatever is wrong before the first byte. */
export function chatCompletions(c: Context, server: ServerContext): Promise<Response> {
  return answerRequest(c, server, async () => {
    const body = await readBody(c.req, CHAT_REQUEST, server);
    const engine = server.desk.directory.pick(body.model);
    if (engine === null) throw unknownModel(body.model, server.desk.directory.names());
    const promptIds = server.prompts.chat(body.messages.map(messageOf), engine);
    const topLogprobs = topLogprobsOf(body);
    const ask = {
      fields: body,
      prompts: [promptIds],
      outputTokensMax: body.max_completion_tokens ?? body.max_tokens ?? null,
      outputKey: "max_completion_tokens",
      topLogprobs,
    };
    const requests = planGenerations(ask, engine, server.limits.choicesMax, server.drawSeed);
    const head = {
      id: `chatcmpl-${server.drawId()}`,
      createdUnixSeconds: server.unixSeconds(),
      model: body.model,
    };
    const choices = server.desk.open(head.id, engine, requests, stopsOf(body));
    return {
      id: head.id,
      choices,
      engine,
      isStream: body.stream === true,
      events: () => events(choices, head, body, promptIds.length),
      whole: (parts) => {
        const usage = usageOf(promptIds.length, choices.completionTokens);
        return chatAnswer(head, parts, usage, topLogprobs !== null);
      },
    } satisfies Answering;
  });
}

async function* events(
  choices: ChoiceSet,
  head: AnswerHead,
  body: ChatRequest,
  promptTokens: number,
): AsyncGenerator<object> {
  const isUsageAsked = body.stream_options?.include_usage === true;
  // With usage asked for, every other chunk says that it has none (OpenAI, stream_options).
  const noUsage = isUsageAsked ? { usage: null } : {};
  for (const { reader } of choices.choices) {
    yield { ...chatOpening(head, reader.index), ...noUsage };
  }
  for (;;) {
    const piece = await choices.next();
    if (piece === null) break;
    for (const chunk of chatChunks(head, piece, body.logprobs === true)) {
      yield { ...chunk, ...noUsage };
    }
  }
  if (isUsageAsked) yield chatUsageChunk(head, usageOf(promptTokens, choices.completionTokens));
}

/** Parts are put together as they stand; a developer's message is what a system's was before. */
function messageOf({ role, content }: ChatRequest["messages"][number]): PromptMessage {
  const text = typeof content === "string" ? content : content.map((part) => part.text).join("");
  return { role: role === "developer" ? "system" : role, content: text };
}

function topLogprobsOf({ logprobs, top_logprobs: top }: ChatRequest): number | null {
  if (logprobs === true) return top ?? 0;
  if (top === undefined || top === null || top === 0) return null;
  const message = "'top_logprobs' is only allowed together with 'logprobs': true";
  throw badRequest(message, "top_logprobs", "invalid_value");
}
