/**
 * POST /v1/completions: prompts in, what follows them out.
 *
 * Mounted by the application. It knows the request's form; generating is the desk's. Choices are
 * numbered prompt by prompt, `n` of each.
 */

import type { Context } from "hono";
import { answerRequest, type Answering } from "./answer-request.ts";
import { badRequest, unknownModel } from "./api-error.ts";
import { usageOf, type AnswerHead, type WholeChoice } from "./chat-answer.ts";
import type { ChoiceSet } from "./choice-set.ts";
import { completionAnswer, type CompletionPart } from "./completion-answer.ts";
import { COMPLETION_REQUEST, type CompletionRequest } from "./completion-schema.ts";
import { planGenerations, stopsOf } from "./generation-plan.ts";
import { readBody } from "./request-body.ts";
import type { ServerContext } from "./server-context.ts";

/** OpenAI's, and vLLM's. */
const OUTPUT_TOKENS_DEFAULT = 16;

/** What the forms of one answer are made from. */
interface Completion {
  readonly head: AnswerHead;
  readonly body: CompletionRequest;
  readonly promptTokens: number;
  /** (choices) what an answer begins with; empty texts unless asked for. */
  readonly echoes: readonly string[];
}

/** @throws ApiError for whatever is wrong before the first byte. */
export function completions(c: Context, server: ServerContext): Promise<Response> {
  return answerRequest(c, server, async () => {
    const { desk, prompts: encoder } = server;
    const body = await readBody(c.req, COMPLETION_REQUEST, server);
    const engine = desk.directory.pick(body.model);
    if (engine === null) throw unknownModel(body.model, desk.directory.names());
    refuseEchoedLogprobs(body);
    const prompts = await encoder.completion(body.prompt, engine);
    const ask = {
      fields: body,
      prompts: prompts.map(({ ids }) => ids),
      outputTokensMax: body.max_tokens ?? OUTPUT_TOKENS_DEFAULT,
      outputKey: "max_tokens",
      topLogprobs: body.logprobs ?? null,
    };
    const requests = planGenerations(ask, engine, server.limits.choicesMax, server.drawSeed);
    const n = requests.length / prompts.length;
    const completion: Completion = {
      head: {
        id: `cmpl-${server.drawId()}`,
        createdUnixSeconds: server.unixSeconds(),
        model: body.model,
      },
      body,
      promptTokens: prompts.reduce((sum, { ids }) => sum + ids.length, 0),
      echoes: requests.map((_, i) =>
        body.echo === true ? prompts[Math.floor(i / n)]!.text() : "",
      ),
    };
    const { id } = completion.head;
    // No tokens are wanted: the answer is the echo, and no engine has to know.
    const wanted = body.max_tokens === 0 ? [] : requests;
    const choices = desk.open(id, engine, wanted, stopsOf(body));
    return {
      id,
      choices,
      engine,
      isStream: body.stream === true,
      events: () => events(choices, completion),
      whole: (parts) => whole(completion, parts, choices.completionTokens),
    } satisfies Answering;
  });
}

/** Log probabilities of prompt tokens would need a pass that no engine here makes. */
function refuseEchoedLogprobs({ echo, logprobs }: CompletionRequest): void {
  if (echo !== true || logprobs === undefined || logprobs === null) return;
  const message = "'echo' together with 'logprobs' is not supported";
  throw badRequest(message, "echo", "unsupported_parameter");
}

function whole(
  completion: Completion,
  choices: readonly WholeChoice[],
  completionTokens: number,
): object {
  const { head, body, promptTokens, echoes } = completion;
  const parts = echoes.map((echo, index): CompletionPart => {
    const choice = choices[index];
    if (choice === undefined) return echoAlone(echo, index);
    return { ...choice, text: echo + choice.text };
  });
  const usage = usageOf(promptTokens, completionTokens);
  return completionAnswer(head, parts, usage, isLogged(body));
}

async function* events(choices: ChoiceSet, completion: Completion): AsyncGenerator<object> {
  const { head, body, promptTokens, echoes } = completion;
  const isUsageAsked = body.stream_options?.include_usage === true;
  const noUsage = isUsageAsked ? { usage: null } : {};
  const chunk = (part: CompletionPart): object => {
    return { ...completionAnswer(head, [part], null, isLogged(body)), ...noUsage };
  };
  const isEchoAlone = choices.choices.length === 0;
  for (const [index, echo] of echoes.entries()) {
    if (isEchoAlone) yield chunk(echoAlone(echo, index));
    else if (echo !== "") yield chunk({ ...echoAlone(echo, index), finishReason: null });
  }
  for (;;) {
    const piece = await choices.next();
    if (piece === null) break;
    yield chunk(piece);
  }
  if (isUsageAsked) {
    const usage = usageOf(promptTokens, choices.completionTokens);
    yield completionAnswer(head, [], usage, false);
  }
}

function echoAlone(text: string, index: number): CompletionPart {
  return { index, text, logprobs: [], finishReason: "length" };
}

function isLogged({ logprobs }: CompletionRequest): boolean {
  return logprobs !== undefined && logprobs !== null;
}
