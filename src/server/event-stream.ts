/**
 * Server-sent events at the client's pace.
 *
 * Used by both routes. The body is pulled: the next event is made when the socket has room for it,
 * so a client that reads slowly costs its socket's buffer and one event, whatever the answer's
 * length. A client that has stopped reading is given up after a while, because its generation
 * keeps its tokens as long as it is open.
 *
 * Form: `data: <JSON>`, a blank line, and `data: [DONE]` at the end (OpenAI API reference,
 * streaming). A failure behind the first byte is an event with `error` in it, and no `[DONE]`.
 */

import { ApiError } from "./api-error.ts";

export interface EventSource {
  /** Objects to send; what it throws becomes an error event. */
  readonly events: AsyncGenerator<object>;
  /** The client has gone, or everything was sent. Called once. */
  readonly close: () => void;
  /** Ends the connection under the answer. */
  readonly disconnect: () => void;
  /** Called with what was thrown and is no ApiError. */
  readonly report: (error: unknown) => void;
}

/** @param stallMs how long a client may leave the socket full. */
export function eventStream(source: EventSource, stallMs: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const { events } = source;
  let stalled: NodeJS.Timeout | undefined;
  let isClosed = false;
  const close = (): void => {
    clearTimeout(stalled);
    if (isClosed) return;
    isClosed = true;
    source.close();
    // Ends the generator where it stands; it stands still, or its wait has just been ended.
    events.return(undefined).catch(source.report);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        clearTimeout(stalled);
        const { text, isLast } = await nextText(source);
        if (isClosed) return;
        controller.enqueue(encoder.encode(text));
        if (isLast) {
          controller.close();
          close();
          return;
        }
        stalled = setTimeout(() => {
          close();
          source.disconnect();
        }, stallMs);
        stalled.unref();
      },
      cancel: close,
    },
    // Nothing is made ahead: an event that waits here is a token that is late elsewhere.
    { highWaterMark: 0 },
  );
}

async function nextText(source: EventSource): Promise<{ text: string; isLast: boolean }> {
  try {
    const { value, done } = await source.events.next();
    if (done === true) return { text: "data: [DONE]\n\n", isLast: true };
    return { text: `data: ${JSON.stringify(value)}\n\n`, isLast: false };
  } catch (error) {
    if (!(error instanceof ApiError)) source.report(error);
    const known =
      error instanceof ApiError
        ? error
        : new ApiError(500, "server_error", "The server failed to answer");
    return { text: `data: ${JSON.stringify(known.body())}\n\n`, isLast: true };
  }
}
