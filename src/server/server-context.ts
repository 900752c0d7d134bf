/**
 * What every route is given: the desk, the limits, time and chance.
 *
 * Made by the application; data and functions only. Time and chance come from the composition root
 * so that tests can give their own.
 */

import type { Logger } from "pino";
import type { GenerationDesk } from "./generation-desk.ts";

/** Everything has a limit; what happens at it stands in docs/SERVING.md. */
export interface ServerLimits {
  /** 413 beyond. */
  readonly bodyBytesMax: number;
  /** Requests that are answered at a time; 429 beyond. */
  readonly requestsMax: number;
  /** Choices of one request, over all its prompts; 400 beyond. */
  readonly choicesMax: number;
  /** How long a client may leave its stream unread before it is given up. */
  readonly stallMs: number;
}

export const SERVER_LIMITS: ServerLimits = {
  bodyBytesMax: 2 * 1024 ** 2,
  requestsMax: 256,
  choicesMax: 128,
  stallMs: 120_000,
};

export interface ServerContext {
  readonly desk: GenerationDesk;
  readonly limits: ServerLimits;
  readonly unixSeconds: () => number;
  /** A whole number in [0, 2^32). */
  readonly drawSeed: () => number;
  /** Unique; what answers are identified by. */
  readonly drawId: () => string;
  readonly log: Logger;
}
