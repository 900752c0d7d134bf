/** Assertions build their text only when they fail; errors from outside carry a code. */

import { describe, expect, it } from "vitest";
import { assert, AssertionFailure, EmaError, unreachable } from "../../src/base/index.ts";

describe("assert", () => {
  it("throws its text, and builds it only then", () => {
    const text = (): string => {
      throw new Error("built for nothing");
    };
    assert(true, text);
    expect(() => assert(false, "3 of 2")).toThrow(new AssertionFailure("3 of 2"));
    expect(() => assert(false, () => "late")).toThrow("late");
  });

  it("unreachable shows the value", () => {
    expect(() => unreachable({ type: "new" } as never)).toThrow('{"type":"new"}');
  });

  it("an EmaError carries a code and its cause", () => {
    const cause = new Error("disk");
    const error = new EmaError("E_FILE", "trace.csv:3: short row", { cause });
    expect([error.name, error.code, error.message]).toEqual([
      "EmaError",
      "E_FILE",
      "trace.csv:3: short row",
    ]);
    expect(error.cause).toBe(cause);
  });
});
