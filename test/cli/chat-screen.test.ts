/** What a terminal is sent: line ends, the bar of KV, and nothing that steers it. */

import { EventEmitter } from "node:events";
import type { ReadStream, WriteStream } from "node:tty";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { kvLine, summaryText } from "../../src/cli/chat-kv-bar.ts";
import { ChatTerminal } from "../../src/cli/chat-terminal.ts";
import { LineWrap } from "../../src/cli/chat-wrap.ts";
import { createPaint } from "../../src/report/index.ts";

const paint = createPaint(false);
const KIB = 1024;
const report = {
  engine: "m@gpu0",
  state: "running",
  tokens: 40,
  places: [
    { kind: "local", device: 0, bytes: 72 * KIB },
    { kind: "borrowed", device: 1, bytes: 36 * KIB },
    { kind: "host", device: null, bytes: 12 * KIB },
  ],
} as const;

describe("the bar", () => {
  it("has a part for each place, as long as its share", () => {
    expect(kvLine(report, 120, paint)).toBe(
      "KV 120 KiB  gpu0 ██████████████ 72 KiB  gpu1 ▓▓▓▓▓▓▓ 36 KiB borrowed  host ░░ 12 KiB",
    );
  });

  it("shrinks with the terminal, and never leaves out where the bytes are", () => {
    for (let columns = 10; columns < 100; columns++) {
      const line = kvLine(report, columns, paint);
      expect(line).toMatch(/gpu0.* 72 KiB.*gpu1.* 36 KiB.*host.* 12 KiB/);
      expect(line).toMatch(/gpu1 (▓+ 36 KiB( borrowed)?|36 KiB borrowed) /);
      if (columns > 62) expect(line.length).toBeLessThanOrEqual(columns);
    }
  });

  it("shows four places on eighty columns, by their cells alone", () => {
    const borrowed = [1, 2, 3].map((device) => {
      return { kind: "borrowed", device, bytes: 180 * KIB } as const;
    });
    const own = { kind: "local", device: 0, bytes: 540 * KIB } as const;
    expect(kvLine({ ...report, places: [own, ...borrowed] }, 80, paint)).toBe(
      "KV 1.05 MiB  gpu0 ████ 540 KiB  gpu1 ▓ 180 KiB  gpu2 ▓ 180 KiB  gpu3 ▓ 180 KiB",
    );
  });

  it("says when there is none, or nobody tells", () => {
    expect(kvLine(null, 80, paint)).toBe("");
    const waiting = { ...report, state: "waiting", places: [] };
    expect(kvLine(waiting, 80, paint)).toBe("KV: none, waiting in m@gpu0");
  });

  it("stands above what the answer took", () => {
    const facts = { tokens: 30, seconds: 2, isInterrupted: false, isCut: true };
    expect(summaryText({ kv: report, ...facts }, 120, paint)).toMatch(
      /^KV 120 KiB .*\n30 tokens, 15\.0\/s, cut at its limit, m@gpu0$/,
    );
    expect(summaryText({ kv: null, ...facts, tokens: null }, 80, paint)).toBe("cut at its limit");
  });
});

describe("line ends", () => {
  const push = (text: string, columns: number, cut: number) => {
    const wrap = new LineWrap();
    return wrap.push(text.slice(0, cut), columns) + wrap.push(text.slice(cut), columns);
  };

  it("come before the last column, keep the text, and do not depend on its pieces", () => {
    const words = fc.array(fc.string({ unit: fc.constantFrom(..."abcd好", " ") }));
    fc.assert(
      fc.property(words, fc.integer({ min: 8, max: 90 }), fc.nat(), (drawn, columns, at) => {
        const text = drawn.join(" ");
        const wrapped = push(text, columns, 0);
        expect(push(text, columns, at % (text.length + 1))).toBe(wrapped);
        for (const line of wrapped.split("\n")) {
          const width = [...line].reduce((sum, char) => sum + (char === "好" ? 2 : 1), 0);
          expect(width).toBeLessThan(columns);
        }
        expect(wrapped.replaceAll(/[ \n]/g, "")).toBe(text.replaceAll(" ", ""));
      }),
    );
  });

  it("stand at a space where one is near, and leave the text's own", () => {
    const text = "x ".repeat(19) + "some words";
    expect(new LineWrap().push(text, 40).split("\n")).toHaveLength(2);
    expect(new LineWrap().push("a\nb\n\nc", 40)).toBe("a\nb\n\nc");
  });

  it("count wide characters twice", () => {
    for (const wide of ["好", "🚀", "한", "ア"]) {
      expect(new LineWrap().push(wide.repeat(10), 11).split("\n")[0]).toBe(wide.repeat(5));
    }
  });
});

describe("the terminal", () => {
  function terminal() {
    const input = Object.assign(new EventEmitter(), {
      isRaw: false,
      setRawMode: (isRaw: boolean) => (input.isRaw = isRaw),
      resume: () => input,
      pause: () => input,
    });
    let sent = "";
    const output = Object.assign(new EventEmitter(), {
      ...{ rows: 24, columns: 80 },
      write: (text: string) => (sent += text) !== "",
    });
    const streams = [input as unknown as ReadStream, output as unknown as WriteStream] as const;
    const take = () => {
      const all = sent;
      sent = "";
      return all;
    };
    return { screen: new ChatTerminal(...streams, paint), input, output, take };
  }
  const summary = { kv: report, tokens: 3, seconds: 1, isInterrupted: false, isCut: false };

  it("keeps its last row for the bar while an answer comes, and gives it back", () => {
    const { screen, input, take } = terminal();
    screen.beginAnswer(() => {});
    expect([input.isRaw, take()]).toEqual([true, expect.stringContaining("\u001b[1;23r")]);
    screen.showKv(report);
    const row = take();
    expect(row).toContain("\u001b[24;1H\u001b[2KKV 120 KiB");
    // The cursor is saved before and restored behind.
    expect([row.startsWith("\u001b7"), row.endsWith("\u001b8")]).toEqual([true, true]);
    screen.endAnswer(summary);
    expect([input.isRaw, input.listenerCount("data")]).toEqual([false, 0]);
    const end = take();
    expect(end).toContain("\u001b[r");
    expect(stripVTControlCharacters(end)).toContain("gpu1");
    screen.showKv(report);
    expect(take()).toBe("");
  });

  it("takes its last row again when it is resized", () => {
    const { screen, output, take } = terminal();
    screen.beginAnswer(() => {});
    take();
    output.rows = 30;
    output.emit("resize");
    expect(take()).toContain("\u001b[1;29r");
    screen.endAnswer(summary);
    expect(output.listenerCount("resize")).toBe(0);
  });

  it("ends an answer at Ctrl-C and at no other key", () => {
    const { screen, input } = terminal();
    let interrupts = 0;
    screen.beginAnswer(() => interrupts++);
    input.emit("data", Buffer.from("abc\r"));
    expect(interrupts).toBe(0);
    input.emit("data", Buffer.from("\u0003"));
    expect(interrupts).toBe(1);
  });

  it("is not steered by what a model says", () => {
    const { screen, take } = terminal();
    screen.beginAnswer(() => {});
    take();
    screen.write("a\u001b]0;title\u0007b\u001b[2Jc\r\u009bd\te\n");
    expect(take()).toBe("a\uFFFD]0;title\uFFFDb\uFFFD[2Jc\uFFFD\uFFFDd\te\n");
  });
});
