/**
 * A refusal or a failure of one HTTP request, in OpenAI's form.
 *
 * Thrown by whatever looks at a request and caught once, by the application, which writes it as
 * `{error: {message, type, param, code}}`. It knows no route. Types and codes are those that
 * OpenAI's clients map to their error classes; where OpenAI has none, those of vLLM.
 *
 * Invariant: a message says what was wrong in one line and never where in the source it was found.
 */

export type ApiErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "rate_limit_error"
  | "server_error"
  | "service_unavailable";

export interface ApiErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: ApiErrorType;
    readonly param: string | null;
    readonly code: string | null;
  };
}

interface ApiErrorDetail {
  readonly param?: string | null;
  readonly code?: string | null;
  readonly retryAfterSeconds?: number;
}

/** Carries its status and, where trying again makes sense, in how many seconds. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly type: ApiErrorType;
  readonly param: string | null;
  readonly code: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, type: ApiErrorType, message: string, detail: ApiErrorDetail = {}) {
    // Names that clients send are part of some messages, and hold what they like.
    super(message.replace(/[\p{Cc}\u2028\u2029]+/gu, " "));
    this.status = status;
    this.type = type;
    this.param = detail.param ?? null;
    this.code = detail.code ?? null;
    this.retryAfterSeconds = detail.retryAfterSeconds ?? null;
  }

  body(): ApiErrorBody {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

/** 400: the request itself is wrong; the same one will be refused again. */
export function badRequest(message: string, param: string | null, code: string): ApiError {
  return new ApiError(400, "invalid_request_error", message, { param, code });
}

/** 404: no engine answers to this name. */
export function unknownModel(name: string, known: readonly string[]): ApiError {
  const message = `The model '${shortened(name)}' does not exist; served: ${known.join(", ")}`;
  const detail = { param: "model", code: "model_not_found" };
  return new ApiError(404, "invalid_request_error", message, detail);
}

/** 429: try again after some seconds. */
export function tooManyRequests(message: string, retryAfterSeconds: number): ApiError {
  const detail = { code: "rate_limit_exceeded", retryAfterSeconds };
  return new ApiError(429, "rate_limit_error", message, detail);
}

/** 503: this server is going, or the engine behind it has gone. */
export function unavailable(message: string, code: string): ApiError {
  return new ApiError(503, "service_unavailable", message, { code, retryAfterSeconds: 5 });
}

/** A text of the client's in a message of ours: not longer than a line. */
export function shortened(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 61)}...`;
}
