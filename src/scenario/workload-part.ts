/**
 * The `workload` of an engine: one part or a list of parts merged by arrival.
 *
 * Called while engines are resolved. A part is read by the schema of its form: a trace, or what
 * `arrivals` says (poisson, on-off, backlog, list). Nothing written, or `none`, is an engine
 * without requests, which only lends.
 */

import { NS_PER_SECOND, suggestNames } from "../base/index.ts";
import {
  delay,
  expectedRequests,
  findLengthPreset,
  generate,
  LENGTH_PRESETS,
  LOG_NORMAL_SIGMA,
  rescaleGaps,
  rotate,
  streamsOf,
  tableFromColumns,
  type ArrivalPattern,
  type LengthPreset,
  type LengthSpec,
  type RequestTable,
} from "../workload/index.ts";
import type { Checker } from "./checker.ts";
import { MAX_PROMPT_SHARE } from "./defaults.ts";
import type { KeyPath } from "./scenario-text.ts";
import { BACKLOG, LENGTHS, LIST, ON_OFF, POISSON, TRACE } from "./schema.ts";
import type { TraceLibrary } from "./trace-library.ts";

/** One part of a workload, ready to make requests. */
export interface WorkloadPart {
  readonly isGenerated: boolean;
  /** Call it when all engines are read: shares of a trace are dealt together. */
  draw(seed: number): { readonly table: RequestTable; readonly clippedPrompts: number };
  /** Means as given for a generator; `null` for requests that are listed or in a trace. */
  readonly means: PartMeans | null;
  readonly promptTokensMax: number | null;
}

export interface PartMeans {
  readonly requests: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

export interface WorkloadContext {
  readonly checker: Checker;
  readonly traces: TraceLibrary;
  readonly engineIndex: number;
  readonly contextTokensMax: number;
}

const FORMS = ["poisson", "on-off", "backlog", "list"] as const;
const PARTS_MAX = 64;
/** An engine serves some requests a second: two million are days. */
const REQUESTS_MAX = 2_000_000;

/** @returns an empty list for an engine without requests. */
export function resolveWorkload(context: WorkloadContext, path: KeyPath): WorkloadPart[] {
  const written = context.checker.valueAt(path);
  if (written === undefined || written === "none") return [];
  if (!Array.isArray(written)) return [resolvePart(context, path, 0)];
  if (written.length > PARTS_MAX) {
    context.checker.fail(path, `expected at most ${PARTS_MAX} parts, got ${written.length}`);
  }
  return written.map((_, index) => resolvePart(context, [...path, index], index));
}

function resolvePart(context: WorkloadContext, path: KeyPath, partIndex: number): WorkloadPart {
  const { checker } = context;
  if (checker.valueAt([...path, "trace"]) !== undefined) return tracePart(context, path);
  const form = checker.valueAt([...path, "arrivals"]);
  switch (FORMS.find((name) => name === form)) {
    case "poisson": {
      const { rate, seconds, offsetSeconds } = checker.read(POISSON, path);
      const pattern = { type: "poisson", requestsPerSecond: rate, seconds } as const;
      return generatedPart(context, path, partIndex, pattern, offsetSeconds);
    }
    case "on-off": {
      const { rate, onSeconds, offSeconds, seconds, offsetSeconds } = checker.read(ON_OFF, path);
      const parts = { onSeconds, offSeconds, seconds };
      const pattern = { type: "on-off", requestsPerSecond: rate, ...parts } as const;
      return generatedPart(context, path, partIndex, pattern, offsetSeconds);
    }
    case "backlog": {
      const { requests, offsetSeconds } = checker.read(BACKLOG, path);
      return generatedPart(context, path, partIndex, { type: "backlog", requests }, offsetSeconds);
    }
    case "list":
      return listPart(context, path);
    case undefined:
      return failForm(checker, path, form);
  }
}

function failForm(checker: Checker, path: KeyPath, form: unknown): never {
  const forms = `arrivals: ${FORMS.join(" | ")}`;
  if (typeof form === "string") {
    const hint = suggestNames(form, FORMS);
    checker.fail([...path, "arrivals"], `unknown arrivals ${JSON.stringify(form)}${hint}`);
  }
  return checker.fail(path, `expected a map with trace: FILE or ${forms}`);
}

function tracePart(context: WorkloadContext, path: KeyPath): WorkloadPart {
  const { checker, traces } = context;
  const written = checker.read(TRACE, path);
  const key = checker.about([...path, "trace"], () => traces.open(written.trace));
  const { share, rateScale = 1, offsetSeconds = 0 } = written;
  const spanNs = Math.round(traces.file(key).spanNs / rateScale);
  if (!Number.isSafeInteger(spanNs * 2)) {
    checker.fail([...path, "rateScale"], "stretches the trace beyond 52 days");
  }
  const place = share === undefined ? undefined : traces.claim(key, share);
  if (place === null) {
    const excess = `the shares of trace ${written.trace} sum to more than 1`;
    return checker.fail([...path, "share"], excess);
  }
  const source = (): RequestTable =>
    place === undefined ? traces.file(key).table : traces.dealtTable(key, place);
  return {
    isGenerated: false,
    draw: () => {
      const rescaled = rescaleGaps(source(), rateScale);
      const offsetNs = Math.round(offsetSeconds * NS_PER_SECOND);
      return { table: rotate(rescaled, offsetNs, spanNs), clippedPrompts: 0 };
    },
    means: null,
    promptTokensMax: null,
  };
}

function generatedPart(
  context: WorkloadContext,
  path: KeyPath,
  partIndex: number,
  pattern: ArrivalPattern,
  offsetSeconds = 0,
): WorkloadPart {
  const expected = expectedRequests(pattern);
  if (expected > REQUESTS_MAX) {
    context.checker.fail(path, `expected at most ${REQUESTS_MAX} requests, got ${expected}`);
  }
  const lengths = resolveLengths(context, [...path, "lengths"]);
  return {
    isGenerated: !(lengths.isFixed && pattern.type === "backlog"),
    draw: (seed) => {
      const streams = streamsOf(seed, context.engineIndex, partIndex);
      const { table, clippedPrompts } = generate(pattern, lengths, streams);
      return { table: delay(table, Math.round(offsetSeconds * NS_PER_SECOND)), clippedPrompts };
    },
    means: {
      requests: expected,
      promptTokens: lengths.promptTokens,
      outputTokens: lengths.outputTokens,
    },
    promptTokensMax: lengths.promptTokensMax,
  };
}

function listPart(context: WorkloadContext, path: KeyPath): WorkloadPart {
  const { requests, offsetSeconds = 0 } = context.checker.read(LIST, path);
  const table = tableFromColumns(
    requests.map(({ at }) => Math.round((at + offsetSeconds) * NS_PER_SECOND)),
    requests.map(({ prompt }) => prompt),
    requests.map(({ output }) => output),
  );
  return {
    isGenerated: false,
    draw: () => ({ table, clippedPrompts: 0 }),
    means: null,
    promptTokensMax: null,
  };
}

function resolveLengths(context: WorkloadContext, path: KeyPath): LengthSpec {
  const { checker, contextTokensMax } = context;
  const written = checker.valueAt(path);
  const presets = Object.keys(LENGTH_PRESETS);
  if (typeof written === "string") {
    const preset = findLengthPreset(written);
    if (preset !== null) return logNormal(preset, contextTokensMax);
    const hint = suggestNames(written, presets);
    return checker.fail(path, `unknown lengths ${JSON.stringify(written)}${hint}`);
  }
  if (typeof written !== "object" || written === null) {
    return checker.fail(path, `expected one of ${presets.join(", ")} or {prompt, output}`);
  }
  const { prompt, output, maxPrompt, sigma, fixed } = checker.read(LENGTHS, path);
  if (maxPrompt !== undefined && maxPrompt >= contextTokensMax) {
    const expected = `below the model's context of ${contextTokensMax} tokens`;
    checker.fail([...path, "maxPrompt"], `expected a length ${expected}, got ${maxPrompt}`);
  }
  const spec = logNormal({ promptTokens: prompt, outputTokens: output }, contextTokensMax);
  if (fixed !== true && sigma !== 0) {
    return {
      ...spec,
      promptSigma: sigma ?? spec.promptSigma,
      outputSigma: sigma ?? spec.outputSigma,
      promptTokensMax: maxPrompt ?? spec.promptTokensMax,
    };
  }
  if (!Number.isInteger(prompt) || !Number.isInteger(output)) {
    checker.fail(path, `expected whole tokens for fixed lengths, got ${prompt} and ${output}`);
  }
  return { ...spec, isFixed: true, promptTokensMax: maxPrompt ?? prompt };
}

function logNormal(means: LengthPreset, contextTokensMax: number): LengthSpec {
  return {
    ...means,
    promptSigma: LOG_NORMAL_SIGMA.prompt,
    outputSigma: LOG_NORMAL_SIGMA.output,
    isFixed: false,
    promptTokensMax: Math.max(1, Math.floor(contextTokensMax * MAX_PROMPT_SHARE)),
    contextTokensMax,
  };
}
