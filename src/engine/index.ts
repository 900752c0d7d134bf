/** The public face of the engine: requests in, tokens out, time given. */

export { Engine } from "./engine.ts";
export { EngineCounters, LADDER_RUNGS, type LadderRung } from "./engine-counters.ts";
export { ROLE_TIMES, type RoleTimes } from "./role-times.ts";
export { noTiming, type StepTiming } from "./step-timing.ts";
export { WAIT_TIMES } from "./wait-times.ts";
export type { EngineOptions } from "./engine-options.ts";
export { groupLayersFor } from "./loan-forecast.ts";
export type {
  CopyEngine,
  CopyRequest,
  EngineFailure,
  EngineNote,
  EngineSink,
  PricedCopy,
  PricedStep,
  StepRunner,
  StepWork,
} from "./ports.ts";
