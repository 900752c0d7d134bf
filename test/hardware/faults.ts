/** Expects a fault of one code and one line. Used by the tests of this folder. */

import { expect } from "vitest";
import { EmaError, type ErrorCode } from "../../src/base/index.ts";

export function expectFault(action: () => unknown, code: ErrorCode, message: RegExp): void {
  let fault: unknown = null;
  try {
    action();
  } catch (error) {
    fault = error;
  }
  expect(fault).toBeInstanceOf(EmaError);
  const { code: actual, message: text } = fault as EmaError;
  expect(actual).toBe(code);
  expect(text).toMatch(message);
  expect(text).not.toContain("\n");
}
