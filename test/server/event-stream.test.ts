/** The event stream alone: nothing is made ahead, failures become events, all ends are one end. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { unavailable } from "../../src/server/api-error.ts";
import { eventStream } from "../../src/server/event-stream.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Counts what was made and what was called. */
function source(events: (count: (made: number) => void) => AsyncGenerator<object>) {
  const seen = { made: 0, closed: 0, disconnected: 0, reported: [] as unknown[] };
  const stream = eventStream(
    {
      events: events((made) => (seen.made = made)),
      close: () => seen.closed++,
      disconnect: () => seen.disconnected++,
      report: (error) => seen.reported.push(error),
    },
    1000,
  );
  return { seen, reader: stream.getReader() };
}

async function* numbers(count: (made: number) => void): AsyncGenerator<object> {
  for (let made = 1; made <= 5; made++) {
    count(made);
    yield { made };
  }
}

const textOf = (value: Uint8Array | undefined) => new TextDecoder().decode(value);

describe("an event stream", () => {
  it("makes an event when it is asked for one", async () => {
    const { seen, reader } = source(numbers);
    await Promise.resolve();
    expect(seen.made).toBe(0);
    expect(textOf((await reader.read()).value)).toBe('data: {"made":1}\n\n');
    await Promise.resolve();
    expect(seen.made).toBe(1);
  });

  it("ends in [DONE], and closes once", async () => {
    const { seen, reader } = source(numbers);
    const texts: string[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      texts.push(textOf(part.value));
    }
    expect([texts.length, texts.at(-1)]).toEqual([6, "data: [DONE]\n\n"]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toMatchObject({ closed: 1, disconnected: 0, reported: [] });
  });

  it("that is cancelled closes, and its generator ends where it stands", async () => {
    const { seen, reader } = source(numbers);
    await reader.read();
    await reader.cancel();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toMatchObject({ made: 1, closed: 1, disconnected: 0 });
  });

  it("that is not read for too long disconnects", async () => {
    const { seen, reader } = source(numbers);
    await reader.read();
    await vi.advanceTimersByTimeAsync(999);
    expect(seen.disconnected).toBe(0);
    await reader.read();
    await vi.advanceTimersByTimeAsync(1000);
    expect(seen).toMatchObject({ closed: 1, disconnected: 1 });
  });

  it("says an expected failure in its form, and an unexpected one without its text", async () => {
    const expected = source(async function* () {
      yield {};
      throw unavailable("gone", "engine_lost");
    });
    await expected.reader.read();
    expect(textOf((await expected.reader.read()).value)).toContain('"message":"gone"');
    expect((await expected.reader.read()).done).toBe(true);
    const unexpected = source(async function* () {
      yield {};
      throw new TypeError("secret");
    });
    await unexpected.reader.read();
    const text = textOf((await unexpected.reader.read()).value);
    expect(text).toContain('"type":"server_error"');
    expect(text).not.toContain("secret");
    expect(unexpected.seen.reported).toHaveLength(1);
  });
});
