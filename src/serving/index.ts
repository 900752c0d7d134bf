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
