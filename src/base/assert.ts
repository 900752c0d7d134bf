/**
 * Assertions that stay on in production.
 *
 * Called by every layer. An assertion says that this program is wrong, never that its input is: bad
 * input is an `EmaError`, an expected miss is a value. Messages carry the numbers that broke.
 */

/** A bug in EMA itself. Nothing catches it but the outermost edge, which reports it and exits. */
export class AssertionFailure extends Error {
  override readonly name = "AssertionFailure";
}

/** @throws AssertionFailure when `condition` is false. Pass a closure where the text costs. */
export function assert(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) {
    throw new AssertionFailure(typeof message === "string" ? message : message());
  }
}

/** Ends every switch over a closed union, so that a new member fails the type check. */
export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable: ${JSON.stringify(value)}`);
}
