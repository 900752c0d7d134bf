/**
 * The one error type for faults from outside: bad input, a missing file, a device that refuses.
 *
 * Thrown by readers, parsers and adapters; caught once, at the command or the session, which prints
 * `message` as a single line. It never stands for a bug (assert) or for an expected miss (`null`).
 */

/** Stable, documented in docs/ERRORS.md; a program may switch on them. */
export type ErrorCode =
  | "E_ARGUMENT"
  | "E_FILE"
  | "E_TRACE"
  | "E_SCENARIO"
  | "E_SERVER"
  | "E_GPU"
  | "E_MODEL"
  | "E_MODEL_FIT"
  | "E_MODEL_UNSUPPORTED"
  | "E_CHECKPOINT"
  | "E_CHAT"
  | "E_DEVICE"
  | "E_SYSTEM"
  | "E_LISTEN"
  | "E_CONNECT";

/** Carries where (file, line, key) and what was expected inside one line of text. */
export class EmaError extends Error {
  override readonly name = "EmaError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
