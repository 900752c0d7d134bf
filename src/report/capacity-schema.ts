/**
 * The form of `ema compare --capacity --json`, format version 1: the one place that says which
 * fields there are.
 *
 * The types of capacity.ts derive from it, docs/schema/capacity.schema.json is generated from it (a
 * test holds them equal). Numbers are means over the seeds; what is not defined is `null`.
 */

import { z } from "zod";

const nullable = z.number().nullable();

const atRate = z.strictObject({
  requestsPerSecond: z.number().positive(),
  ttftP99Seconds: nullable,
  tpotP99Seconds: nullable,
});

const systemCapacity = z.strictObject({
  base: z.enum(["static", "double", "ema"]),
  requestsPerSecond: nullable.describe(
    "The highest rate found to meet the SLO: the workload's `rate`, or the mean of a trace. " +
      "Null: no rate that was tried does.",
  ),
  setting: nullable.describe("The same as the value of `scaledKey`, to be run again."),
  isBracketed: z.boolean().describe("False: all rates tried meet the SLO, or none does."),
  outputTokensPerSecond: nullable.describe("Of the engine at that rate."),
  goodputRequestsPerSecond: nullable,
  ttftP99Seconds: nullable,
  tpotP99Seconds: nullable,
  finished: nullable.describe("Requests behind these percentiles, a seed."),
  admission: z.string().nullable().describe("The first admission setting that met the SLO there."),
  othersGoodputRequestsPerSecond: nullable.describe("All other engines together, meanwhile."),
  beyond: atRate.nullable().describe("The next rate known not to meet the SLO, best setting."),
  versusStatic: nullable.describe("Requests a second over those of `static`."),
  rates: z.number().int().positive().describe("How many rates were tried."),
  runs: z.number().int().positive(),
});

export const capacitySchema = z
  .strictObject({
    formatVersion: z.literal(1),
    scenario: z.string(),
    engine: z.string(),
    scaledKey: z.string().describe("What `--set` changed, like engines.chat.workload.rate."),
    slo: z.strictObject({ ttftSeconds: z.number(), tpotSeconds: z.number() }),
    seeds: z.array(z.number().int()),
    tolerance: z.number().describe("Relative distance from `requestsPerSecond` to `beyond`."),
    capacity: z.record(z.string(), systemCapacity),
    verdict: z.strictObject({
      text: z.string(),
      winner: z.string().nullable().describe("Null when `static` was not among the systems."),
    }),
    warnings: z.array(z.string()),
  })
  .meta({ title: "ema compare --capacity --json" });

export type CapacityJson = z.infer<typeof capacitySchema>;
export type SystemCapacity = z.infer<typeof systemCapacity>;
