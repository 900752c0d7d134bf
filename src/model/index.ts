/** The public face of the model layer: checkpoints, tokenizers and a decoder over devices. */

export type { Checkpoint } from "./checkpoint.ts";
export { ChatPrompt, type ChatTemplate, type PromptMessage } from "./chat-prompt.ts";
export { Decoder, type DecoderParts, type DecoderPlace } from "./decoder.ts";
export {
  decoderBytes,
  weightLayout,
  workspaceLayout,
  type DecoderLimits,
} from "./decoder-memory.ts";
export { LOGPROB_MIN, logprobsOf, type LikelyToken } from "./logprobs.ts";
export { loadCheckpoint } from "./load-checkpoint.ts";
export { FLOAT_BYTES, kvBytesPerToken, modelShapeOf, type ModelConfig } from "./model-config.ts";
export { randomCheckpoint, RANDOM_VOCAB_MIN } from "./random-checkpoint.ts";
export type { RopeScaling } from "./rope-frequencies.ts";
export { chooseToken, likeliest, type SamplingSettings } from "./sampler.ts";
export type { CheckpointWeights, Tensor } from "./tensors.ts";
export { TextStream } from "./text-stream.ts";
export type { Tokenizer } from "./tokenizer.ts";
