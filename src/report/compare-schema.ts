/**
 * The form of `ema compare --json`, format version 1: the one place that says which fields there
 * are.
 *
 * The types of the report derive from it, docs/schema/compare.schema.json is generated from it (a
 * test holds them equal), and tests hold every output to it. Numbers are means over the seeds, but
 * those called `max`, which are the largest of any seed: a count, too, is what a run has on
 * average, so that it can be compared with a run of another number of seeds.
 *
 * Invariant: no NaN and no Infinity can pass; what is not defined is `null`.
 */

import { z } from "zod";

const nullable = z.number().nullable();
const countOf = z.number().nonnegative();

const distribution = z
  .strictObject({ mean: nullable, p50: nullable, p90: nullable, p95: nullable, p99: nullable })
  .describe("Seconds; percentiles by linear interpolation between order statistics.");

const byteGauge = z
  .strictObject({ mean: countOf, max: countOf })
  .describe("Bytes; the mean is time-weighted over the window.");

const failures = z.strictObject({
  "beyond-context": countOf,
  "larger-than-memory": countOf,
  timeout: countOf,
  "engine-lost": countOf,
});

const refusals = z.strictObject({
  "no-idle-memory": countOf,
  limit: countOf,
  account: countOf,
  role: countOf,
  link: countOf,
  "lender-share": countOf,
  "does-not-pay": countOf,
  slo: countOf,
});

const engineResult = z.strictObject({
  requests: z.strictObject({
    arrived: countOf,
    finished: countOf,
    failed: countOf,
    failures,
  }),
  outputTokensPerSecond: nullable.describe("Between the end of the warm-up and the last arrival."),
  goodputRequestsPerSecond: nullable.describe("Finished in the same window, within the SLO."),
  ttftSeconds: distribution,
  tpotSeconds: distribution,
  itlSeconds: distribution,
  latencySeconds: distribution,
  preemptions: countOf,
  recomputedTokens: countOf,
  prefixHitTokens: countOf,
  ghostHitTokens: countOf,
  rotations: countOf,
  parked: countOf,
  kvTokensCapacity: countOf.describe("Own KV memory in whole slices, tokens."),
  borrowedBytes: byteGauge,
  lentBytes: byteGauge,
  hiddenShare: nullable.describe("1 - stall time / time the links were busy with remote reads."),
  remoteSlowdown: nullable.describe("Step times over the same with all KV local, less 1."),
  stallSeconds: countOf,
  prefetch: z.strictObject({ hit: countOf, late: countOf, miss: countOf, wastedBytes: countOf }),
  slowdownAsLender: nullable.describe("Own step times over the same without loans, less 1."),
  refusals,
});

const recalls = z.strictObject({
  count: countOf,
  slices: countOf,
  waitSeconds: z.strictObject({ p50: nullable, p99: nullable, max: nullable }),
});

const systemResult = z.strictObject({
  base: z.enum(["static", "double", "ema"]),
  admission: z.string().describe("The admission setting with the most throughput, used here."),
  engines: z.record(z.string(), engineResult),
  total: engineResult.describe("Requests of all engines pooled."),
  recalls: z.strictObject({ refill: recalls, demand: recalls }),
  ladder: z.record(z.string(), countOf).describe("Slices given back by each rung of the ladder."),
  links: z
    .record(z.string(), z.strictObject({ bytes: countOf, busyShare: nullable }))
    .describe("By `<from>-<to>`, GPU indices; busy share of the whole run."),
  digest: z.string().describe("Hash of the ordered event stream; of all seeds' hashes if several."),
});

const ratios = z
  .strictObject({
    throughput: nullable,
    goodput: nullable,
    ttftMean: nullable,
    ttftP99: nullable,
    tpotMean: nullable,
    tpotP95: nullable,
    tpotP99: nullable,
  })
  .describe("Over `static`, paired by seed.");

const interval = z.tuple([z.number(), z.number()]).nullable();

const intervals = z
  .strictObject({
    throughput: interval,
    goodput: interval,
    ttftMean: interval,
    ttftP99: interval,
    tpotMean: interval,
    tpotP95: interval,
    tpotP99: interval,
  })
  .describe("[low, high] of the mean over seeds; null with fewer than two values.");

const intervalsBySystem = z.record(
  z.string(),
  z.strictObject({ engines: z.record(z.string(), intervals), total: intervals }),
);

const capacity = z.strictObject({
  gpu: z.string(),
  model: z.string(),
  kvBytes: countOf.describe("Own KV memory in whole slices, bytes."),
  kvTokens: countOf,
  borrowLimitBytes: nullable.describe("Null: no cap."),
});

export const compareSchema = z
  .strictObject({
    formatVersion: z.literal(1),
    scenario: z.string(),
    seeds: z.array(z.number().int()),
    systems: z.record(z.string(), systemResult),
    versus: z.record(
      z.string(),
      z.strictObject({ engines: z.record(z.string(), ratios), total: ratios }),
    ),
    verdict: z.strictObject({
      text: z.string(),
      winner: z.string().nullable().describe("Null when `static` was not among the systems."),
    }),
    warnings: z.array(z.string()),
    capacities: z.record(z.string(), z.record(z.string(), capacity)).describe("System, engine."),
    intervals: z
      .strictObject({
        confidence: z.literal(0.95),
        systems: intervalsBySystem.describe("Tokens, requests a second, seconds."),
        versus: intervalsBySystem.describe("Ratios over `static`."),
      })
      .describe("Student t over the seeds."),
  })
  .meta({
    title: "ema compare --json",
    description:
      "Of several seeds every number is the mean, but for those called max, which are the " +
      "largest. Counts are means too, so they may be fractions; with one seed they are whole.",
  });

export type CompareJson = z.infer<typeof compareSchema>;
export type EngineResult = z.infer<typeof engineResult>;
export type SystemResult = z.infer<typeof systemResult>;
export type Recalls = z.infer<typeof recalls>;
export type Ratios = z.infer<typeof ratios>;
export type Intervals = z.infer<typeof intervals>;
export type Capacity = z.infer<typeof capacity>;
