/**
 * Refuses arrays that are longer than any answerable request has, before their items are looked at.
 *
 * Called for every body ahead of its schema: a schema looks at all items before it counts them, and
 * a body of two megabytes has half a million. Engines are driven by the same thread.
 */

import { badRequest } from "./api-error.ts";
import type { ServerContext } from "./server-context.ts";

/** Each takes several tokens; whoever has so many has more than a context holds. */
const MESSAGES_MAX = 2048;

/** @throws ApiError 400 that names the array. */
export function refuseLongArrays(
  { messages, prompt }: Readonly<Record<string, unknown>>,
  { limits, desk }: ServerContext,
): void {
  refuseBeyond(messages, MESSAGES_MAX, "messages");
  if (!Array.isArray(prompt)) return;
  const contexts = desk.directory.engines.map(({ model }) => model.contextTokensMax);
  const idsMax = Math.max(...contexts);
  const isOfIds = typeof prompt[0] === "number";
  refuseBeyond(prompt, isOfIds ? idsMax : limits.choicesMax, "prompt");
  if (!isOfIds) prompt.forEach((ids, index) => refuseBeyond(ids, idsMax, `prompt[${index}]`));
}

function refuseBeyond(value: unknown, lengthMax: number, param: string): void {
  if (!Array.isArray(value) || value.length <= lengthMax) return;
  const message = `'${param}' has ${value.length} items, at most ${lengthMax} can be answered`;
  throw badRequest(message, param, "array_above_max_length");
}
