/** The public face of the model layer: checkpoints, tokenizers and a decoder over devices. */

export type { Tokenizer } from "./tokenizer.ts";
