/**
 * The shape of a dense decoder: enough to count its bytes and its FLOPs.
 *
 * Rows live in model-catalogue.ts; hugging-face-config.ts reads the same from a config.json.
 * Weights are bf16.
 */

/** What the counts of a decoder follow from. */
export interface DecoderDimensions {
  readonly name: string;
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** Not always hidden / heads: Qwen3-4B has 128 with hidden 2560 and 32 heads. */
  readonly headDim: number;
  readonly ffn: number;
  /** Gated FFNs (SwiGLU) have three matrices, OPT's two. */
  readonly isFfnGated: boolean;
  readonly vocab: number;
  readonly isTied: boolean;
  readonly contextTokensMax: number;
}

export interface ModelShape extends DecoderDimensions {
  readonly paramCount: number;
  readonly weightBytes: number;
  /** layers * 2 * kvHeads * headDim * 2. */
  readonly kvBytesPerToken: number;
}
