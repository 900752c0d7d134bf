/** The public face of the scenario layer: what is compared, from a file or from options. */

export type {
  AccessMode,
  EngineSettings,
  Headroom,
  Interference,
  MemoryLimit,
  PoolSettings,
  Scenario,
  Slo,
  SystemBase,
  SystemSettings,
} from "./scenario.ts";
export { DEFAULT_POOL, DEFAULT_SLO } from "./defaults.ts";
export { readScenario, type ScenarioOptions } from "./scenario-file.ts";
export { plainScenario } from "./plain-scenario.ts";
export { quickScenario, type QuickOptions } from "./quick-scenario.ts";
export { systemsByName } from "./systems.ts";
