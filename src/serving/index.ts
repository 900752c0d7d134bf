/** The public face of the engine in real time: served models, their tokens and their load. */

export type {
  FinishReason,
  Generation,
  GenerationRequest,
  GenerationState,
  Rejection,
  Sampling,
  ServedModel,
  ServedModelLoad,
  TokenLogprob,
} from "./generation.ts";
export { EMULATED_RATES, type EmulatedRates } from "./emulated-cost.ts";
export type { KvPlace, ServedEngine } from "./served-engine.ts";
export { ServedServer } from "./served-server.ts";
export {
  SERVED_LIMITS,
  type ServedEngineOptions,
  type ServedLimits,
  type ServedServerOptions,
} from "./server-options.ts";
export { VirtualServer } from "./virtual-server.ts";
