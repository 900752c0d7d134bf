/** Tests of the trace reader: the Azure hour, column names, exact time, and files that lie. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { readTrace, type RequestTable } from "../../src/workload/index.ts";
import { sharedDataPath } from "../shared-data.ts";

const folder = mkdtempSync(join(tmpdir(), "ema-trace-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string | Uint8Array, name = "trace.csv"): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function rowsOf(table: RequestTable): number[][] {
  return Array.from({ length: table.count }, (_, row) => [
    table.arrivalNs[row]!,
    table.promptTokens[row]!,
    table.outputTokens[row]!,
  ]);
}

const read = (text: string): number[][] => rowsOf(readTrace(fileOf(text)).table);

function failureOf(text: string | Uint8Array): { code: string; message: string } {
  try {
    readTrace(fileOf(text));
  } catch (error) {
    expect(error).toBeInstanceOf(EmaError);
    const { code, message } = error as EmaError;
    expect(message).not.toContain("\n");
    return { code, message: message.replace(folder, "") };
  }
  throw new Error("was read");
}

const azure = sharedDataPath("azure2023/AzureLLMInferenceTrace_conv.csv");
const AZURE_FACTS = [19_366, 22_361_870, 4_088_665, 3_501_721_937_000];

describe("the Azure hour", () => {
  it.skipIf(azure === null)("has the requests, tokens and span that its publisher counts", () => {
    const { table, spanNs, skipped, label } = readTrace(azure!);
    const sum = (tokens: Int32Array): number => tokens.reduce((total, next) => total + next, 0);
    const facts = [table.count, sum(table.promptTokens), sum(table.outputTokens), spanNs];
    expect(facts).toEqual(AZURE_FACTS);
    expect(table.arrivalNs[0]).toBe(0);
    expect(skipped).toEqual({ count: 0, samples: [] });
    expect(label).toBe("AzureLLMInferenceTrace_conv.csv");
  });

  it.skipIf(azure === null)("has them under a time zone with a change of clocks that hour", () => {
    // Lord Howe Island moves its clocks by half an hour; the arithmetic must not ask.
    const module = join(import.meta.dirname, "../../src/workload/index.ts");
    const script =
      `import { readTrace } from ${JSON.stringify(module)};` +
      `const t = readTrace(${JSON.stringify(azure)}); console.log(t.table.count, t.spanNs);`;
    for (const TZ of ["Australia/Lord_Howe", "America/St_Johns"]) {
      const output = execFileSync(
        process.execPath,
        ["--import", "tsx", "--input-type=module", "-e", script],
        { env: { ...process.env, TZ }, encoding: "utf8" },
      );
      expect(output.trim()).toBe(`${AZURE_FACTS[0]} ${AZURE_FACTS[3]}`);
    }
  });
});

describe("formats", () => {
  it("reads CRLF, seven fractional digits and a last line without an end", () => {
    const text =
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n" +
      "2023-11-16 18:15:46.6805900,374,44\r\n" +
      "2023-11-16 18:15:50.9951691,396,109";
    expect(read(text)).toEqual([
      [0, 374, 44],
      [4_314_579_100, 396, 109],
    ]);
  });

  it("crosses midnight, months and leap days, and takes zones into account", () => {
    const text = (...times: string[]): string =>
      `timestamp,prompt_tokens,output_tokens\n${times.map((time) => `${time},1,1\n`).join("")}`;
    const last = (...times: string[]): number => readTrace(fileOf(text(...times))).spanNs;
    expect(last("2024-02-28 23:59:59.999999999", "2024-02-29T00:00:00")).toBe(1);
    expect(last("2023-12-31 23:59:59", "2024-01-01 00:00:01")).toBe(2e9);
    expect(last("2024-05-10 00:00:00+00:00", "2024-05-10 00:00:00-01:30")).toBe(5400e9);
    expect(last("2024-05-10T00:00:00Z", "2024-05-10T02:00:01+0200")).toBe(1e9);
  });

  it.each([
    ["arrival", "input_tokens", "output_tokens", "1.5", 1.5e9],
    ["arrival_s", "prompt_tokens", "output_length", "1.5e0", 1.5e9],
    ["Arrival Seconds", "input_toks", "output_toks", "15e-1", 1.5e9],
    ["arrived_at", "input_length", "GeneratedTokens", "0.0000015", 2000],
    ["timestamp", "ContextTokens", "completion_tokens", "00001.5", 1.5e9],
    ["timestamp", "ContextTokens", "completion_tokens", "1.9999996", 2e9],
    ["arrival_ms", "prompt-tokens", "Response tokens", "1.5", 1.5e6],
    ["arrivalUs", "promptTokens", "outputTokens", "1.5", 1500],
    ["arrival_ns", "input_toks", "output_toks", "15", 15],
  ])("knows %s, %s, %s", (arrival, prompt, output, text, expectedNs) => {
    const header = `id,${output},${arrival},${prompt}`;
    expect(read(`${header}\na,7,0,5\nb,8,${text},6\n`)).toEqual([
      [0, 5, 7],
      [expectedNs, 6, 8],
    ]);
  });

  it("takes a byte order mark, spaces, empty lines and quoted columns over several lines", () => {
    const text =
      '\uFEFF"arrival", prompt_tokens ,output_tokens,text\n\n' +
      ' 1 , 5,7,"He said ""1,024""\n1,2,3,4\n\nand left"\n\n2,6,8,x\n   \n';
    expect(read(text)).toEqual([
      [0, 5, 7],
      [1e9, 6, 8],
    ]);
  });

  it("skips and counts rows without prompt or output, and starts at the first that is kept", () => {
    const text = "arrival,prompt_tokens,output_tokens\n1,5,0\n2,5,1\n3,0,1\n4,1,1\n5,0,0\n6,0,1\n";
    const { table, skipped } = readTrace(fileOf(text));
    expect(rowsOf(table)).toEqual([
      [0, 5, 1],
      [2e9, 1, 1],
    ]);
    const noPrompt = (line: number): string => `line ${line}: 0 prompt tokens`;
    const samples = ["line 2: 0 output tokens", noPrompt(4), noPrompt(6)];
    expect(skipped).toEqual({ count: 4, samples });
  });
});

describe("time", () => {
  const micros = fc.integer({ min: 0, max: 4e9 });
  const tokens = fc.integer({ min: 1, max: 9000 });
  const rows = fc.array(fc.tuple(micros, tokens, tokens), { minLength: 1, maxLength: 30 });
  const decimal = (value: bigint): string =>
    `${value / 1_000_000n}.${String(value % 1_000_000n).padStart(6, "0")}`;
  const csv = (name: string, lines: readonly string[]): string =>
    [`${name},prompt_tokens,output_tokens`, ...lines].join("\n");

  it("is the same shifted by 1.78e9 s, in any order of rows, in any unit and notation", () => {
    const property = fc.property(rows, fc.integer({ min: 0, max: 1e6 }), (list, seed) => {
      const shiftUs = 1_780_000_000_000_000n + BigInt(seed);
      const line = (form: (us: bigint) => string) => (row: (typeof list)[number]) =>
        `${form(BigInt(row[0]))},${row[1]},${row[2]}`;
      const plain = read(csv("arrival", list.map(line(decimal))));
      const shifted = list.map(line((us) => decimal(us + shiftUs)));
      expect(read(csv("arrival", shifted))).toEqual(plain);
      expect(read(csv("arrival", shifted.toReversed()))).toEqual(plain);
      expect(read(csv("arrival", shifted.toSorted()))).toEqual(plain);
      const nanos = list.map(line((us) => String((us + shiftUs) * 1000n)));
      expect(read(csv("arrival_ns", nanos))).toEqual(plain);
      const dates = list.map(
        line((us) => {
          const date = new Date(Number((us + shiftUs) / 1000n)).toISOString().slice(0, -1);
          return `${date}${String((us + shiftUs) % 1000n).padStart(3, "0")}`;
        }),
      );
      expect(read(csv("TIMESTAMP", dates))).toEqual(plain);
    });
    fc.assert(property, { numRuns: 60 });
  });

  it("is the same where a logger wrote shifted seconds from a double", () => {
    const property = fc.property(rows, (list) => {
      const line = (shift: number) => (row: (typeof list)[number]) =>
        `${row[0] / 1e6 + shift},${row[1]},${row[2]}`;
      const plain = read(csv("arrival", list.map(line(0))));
      expect(read(csv("arrival", list.map(line(1.78e9))))).toEqual(plain);
    });
    fc.assert(property, { numRuns: 60 });
  });

  it("keeps nanoseconds at epoch magnitude", () => {
    const rowsNs = "1780000000000000001,1,1\n1780000000000000004,1,1";
    expect(read(`arrival_ns,prompt_tokens,output_tokens\n${rowsNs}`)).toEqual([
      [0, 1, 1],
      [3, 1, 1],
    ]);
  });
});

describe("bad input is one line with file and line", () => {
  const header = "arrival,prompt_tokens,output_tokens\n";
  const PLAIN = "expected a whole number of tokens in plain digits, got";
  const QUOTED = 'expected CSV (a field with a quote is quoted whole, "" inside for one)';
  const TWICE = 'two columns are named "arrival"; expected one';

  it.each([
    ["", "/trace.csv:1: empty file; expected a CSV header and requests"],
    ["\n\n", "/trace.csv:1: empty file; expected a CSV header and requests"],
    [header, "/trace.csv: no requests after the header"],
    [`${header}1,0,5\n`, "/trace.csv: no requests after the header (1 rows skipped)"],
    [`${header}1,-1,5\n`, `/trace.csv:2: prompt_tokens: ${PLAIN} "-1"`],
    [`${header}1,5,3.5\n`, `/trace.csv:2: output_tokens: ${PLAIN} "3.5"`],
    [`${header}1,5,5\n2,NaN,5\n`, `/trace.csv:3: prompt_tokens: ${PLAIN} "NaN"`],
    [`${header}1,1e400,5\n`, `/trace.csv:2: prompt_tokens: ${PLAIN} "1e400"`],
    [`${header}1,9999999999,5\n`, `/trace.csv:2: prompt_tokens: ${PLAIN} "9999999999"`],
    [`${header}1,,5\n`, `/trace.csv:2: prompt_tokens: ${PLAIN} nothing`],
    [`${header}1,"1,024",5\n`, `/trace.csv:2: prompt_tokens: ${PLAIN} "1,024"`],
    [`${header}1,1,024,5\n`, "/trace.csv:2: expected 3 fields as in the header, got 4"],
    [`${header}1,5\n`, "/trace.csv:2: expected 3 fields as in the header, got 2"],
    [`${header}\n\n1,5\n`, "/trace.csv:4: expected 3 fields as in the header, got 2"],
    [`${header}1,5,"6\n2,5,6\n`, "/trace.csv:2: a quote is opened and never closed"],
    [`${header}1,5,6"6"\n`, `/trace.csv:2: ${QUOTED}`],
    [`${header}1,5,6,\n`, "/trace.csv:2: expected 3 fields as in the header, got 4"],
    ["arrival,arrival,prompt_tokens,output_tokens\n", `/trace.csv:1: ${TWICE}`],
  ])("%j", (text, message) => {
    expect(failureOf(text)).toEqual({ code: "E_TRACE", message });
  });

  it.each(["-1", "NaN", "", "1e400", "1e99", "1,5", "soon", "0x10", "Infinity", "1e12"])(
    "arrival %j",
    (time) => {
      const { code, message } = failureOf(`${header}0,5,5\n"${time}",5,5\n`);
      expect(code).toBe("E_TRACE");
      expect(message).toContain("/trace.csv:3: arrival: expected seconds like the rows before");
    },
  );

  it.each([
    "2023-02-30 00:00:00",
    "2023-13-01 00:00:00",
    "2023-11-16 24:00:00",
    "2023-11-16 18:15:46 PST",
    "16.11.2023 18:15:46",
    "2023-11-16",
  ])("date %j", (time) => {
    const { message } = failureOf(`${header}${time},5,5\n`);
    expect(message).toContain("/trace.csv:2: arrival: expected seconds from any start, or a date");
  });

  it("a date among numbers", () => {
    const { message } = failureOf(`${header}1,5,5\n2023-11-16 18:15:46,5,5\n`);
    expect(message).toContain("/trace.csv:3: arrival: expected seconds like the rows before");
  });

  it("arrivals that span more than a double counts", () => {
    const { message } = failureOf(`${header}0,5,5\n9999999999,5,5\n`);
    expect(message).toBe("/trace.csv: arrivals span more than 104 days");
  });

  it("a renamed column, with the nearest names", () => {
    const { message } = failureOf("TIMESTAMP,ContextTokns,GeneratedTokens\n1,2,3\n");
    expect(message).toContain("/trace.csv:1: no column for prompt tokens; expected one of");
    expect(message).toContain('found "TIMESTAMP", "ContextTokns", "GeneratedTokens"');
    expect(message).toContain('nearest: "ContextTokns" here is like ContextTokens');
  });

  it("a missing column", () => {
    const without = failureOf("arrival,prompt_tokens\n1,2\n").message;
    expect(without).toContain("no column for output tokens");
    expect(failureOf("1.0,374,44\n").message).toContain("no column for arrival; expected one of");
  });

  it("binary data, also behind a text", () => {
    const message = "/trace.csv: expected a CSV text file, found binary data";
    expect(failureOf(Uint8Array.of(31, 139, 8, 0, 0))).toEqual({ code: "E_TRACE", message });
    expect(failureOf(Buffer.from(`\uFEFF${header}1,5,5`, "utf16le")).message).toBe(message);
    expect(failureOf(`${header}1,5,5\n2,5,\0`).message).toBe(message);
  });

  it("a line without end", () => {
    const { message } = failureOf(header + "1".repeat(9 << 20));
    expect(message).toBe("/trace.csv: expected a CSV text file, found a line of more than 4 MiB");
  });

  it("no file, or a directory", () => {
    mkdirSync(join(folder, "sub"));
    const codeOf = (path: string): string => {
      try {
        readTrace(path);
      } catch (error) {
        return `${(error as EmaError).code} ${(error as EmaError).message.replace(folder, "")}`;
      }
      return "was read";
    };
    expect(codeOf(join(folder, "gone.csv"))).toBe("E_FILE /gone.csv: no such file");
    expect(codeOf(join(folder, "sub"))).toBe(
      "E_FILE /sub: expected a file, found a directory or a device",
    );
  });
});

it("reads lines and characters that fall on the border of a chunk", () => {
  const lines = Array.from({ length: 40_000 }, (_, row) => `${row},${row + 1},7,é${row}`);
  const text = `arrival,prompt_tokens,output_tokens,who\n${lines.join("\n")}`;
  const { table } = readTrace(fileOf(text));
  expect(table.count).toBe(40_000);
  expect(table.promptTokens[39_999]).toBe(40_000);
  expect(table.arrivalNs[39_999]).toBe(39_999e9);
});
