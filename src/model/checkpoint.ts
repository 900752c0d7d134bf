/**
 * A model as it comes out of a file: dimensions, weights, tokenizer, chat template.
 *
 * Made by `loadCheckpoint` and `randomCheckpoint`; taken apart by whoever builds a decoder and
 * serves it. Whoever holds it closes its weights once they are on a device.
 */

import type { ChatTemplate } from "./chat-prompt.ts";
import type { ModelConfig } from "./model-config.ts";
import type { CheckpointWeights } from "./tensors.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface Checkpoint {
  /** What the model is called: from the file where it says so, else the file's own name. */
  readonly name: string;
  readonly config: ModelConfig;
  readonly weights: CheckpointWeights;
  readonly tokenizer: Tokenizer;
  /** null: the model brings none, and ChatPrompt uses a plain one. */
  readonly chatTemplate: ChatTemplate | null;
}
