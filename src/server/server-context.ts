/**
 * What every route is given: the desk, the limits, time and chance.
 *
 * Put together by `serverContext`, once a server. Time and chance come from the composition root,
 * so that tests can give their own.
 */

import type { Logger } from "pino";
import { AssertionFailure } from "../base/index.ts";
import { EngineDirectory } from "./engine-directory.ts";
import { GenerationDesk } from "./generation-desk.ts";
import { ServerMetrics } from "./metrics.ts";
import { PromptEncoder } from "./prompt-encoder.ts";
import type { HostedEngine } from "./hosted-engine.ts";

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

/** What a server is made from. */
export interface ServerSettings {
  /** At least one. */
  readonly engines: readonly HostedEngine[];
  /** null: whoever reaches the server may use it. */
  readonly apiKey: string | null;
  readonly limits: ServerLimits;
  readonly version: string;
  readonly unixSeconds: () => number;
  /** Only goes forward; where it begins does not matter. */
  readonly clockSeconds: () => number;
  /** A whole number in [0, 2^32). */
  readonly drawSeed: () => number;
  /** Unique; what answers are identified by. */
  readonly drawId: () => string;
  readonly log: Logger;
  /** An assertion broke: the request has its answer, what comes next is the program's to say. */
  readonly onBug: (error: AssertionFailure) => void;
}

export interface ServerContext extends ServerSettings {
  readonly desk: GenerationDesk;
  readonly metrics: ServerMetrics;
  readonly prompts: PromptEncoder;
  readonly startedUnixSeconds: number;
}

/** The parts of one server, tied together. */
export function serverContext(settings: ServerSettings): ServerContext {
  const directory = new EngineDirectory(settings.engines);
  const metrics = new ServerMetrics(directory, settings.clockSeconds);
  return {
    ...settings,
    desk: new GenerationDesk(directory, metrics, settings.limits.requestsMax),
    metrics,
    prompts: new PromptEncoder(),
    startedUnixSeconds: settings.unixSeconds(),
  };
}

/** What no request should bring about: logged, and a broken assertion handed on. */
export function reportFailure(error: unknown, server: ServerContext): void {
  server.log.error({ err: error }, "a request failed");
  if (error instanceof AssertionFailure) server.onBug(error);
}
