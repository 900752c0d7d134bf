/**
 * A server of the no-harm sweep as plain values: the keys of a scenario.yaml, and a setting.
 *
 * Made by random-server.ts, made smaller by shrink.ts, kept as files by regressions: what is
 * written is a scenario that `ema compare` runs as it is.
 */

import { plainScenario, type Scenario } from "../../src/scenario/index.ts";

export interface LinkPlan {
  readonly from: number;
  readonly to: number;
  readonly bytesPerSecond: number;
}

export interface LengthsPlan {
  readonly prompt: number;
  readonly output: number;
}

export type WorkloadPlan =
  | {
      readonly arrivals: "poisson";
      readonly rate: number;
      readonly seconds: number;
      readonly lengths: LengthsPlan;
    }
  | {
      readonly arrivals: "on-off";
      readonly rate: number;
      readonly onSeconds: number;
      readonly offSeconds: number;
      readonly seconds: number;
      readonly offsetSeconds: number;
      readonly lengths: LengthsPlan;
    }
  | {
      readonly arrivals: "backlog";
      readonly requests: number;
      readonly offsetSeconds: number;
      readonly lengths: LengthsPlan;
    };

export interface EnginePlan {
  readonly name: string;
  readonly gpus: readonly [number];
  readonly model: string;
  /** Left out for an engine that only lends. */
  readonly workload?: readonly WorkloadPlan[];
}

export interface PoolPlan {
  readonly lenderShare: string;
  readonly borrowLimit?: string;
  readonly sliceBytes?: string;
  readonly interference?: "subtractive" | "ceiling";
  readonly accessMode?: "staged" | "direct" | "mixed";
}

/** The keys of a scenario, and no others. */
export interface ScenarioPlan {
  readonly name: string;
  readonly server: {
    readonly gpus: readonly string[];
    readonly links: "switch" | "mesh" | "pcie" | readonly LinkPlan[];
  };
  readonly seed: number;
  readonly slo: { readonly ttftSeconds: number; readonly tpotSeconds: number };
  readonly pool: PoolPlan;
  readonly engines: readonly EnginePlan[];
}

export interface ServerPlan {
  readonly scenario: ScenarioPlan;
  /** Name of the admission setting that all runs of the server share. */
  readonly admission: string;
}

/** @throws EmaError where the values are no scenario. */
export function scenarioOf(plan: ServerPlan): Scenario {
  return plainScenario(plan.scenario, plan.scenario.name);
}
