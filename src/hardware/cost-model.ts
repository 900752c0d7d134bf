/**
 * How long a step's parts take on one GPU for one model: the port that schedulers predict with and
 * that the simulator replays.
 *
 * Implemented by tabulated-cost-model.ts (measured tables, roofline where they end). It knows
 * nothing of remote memory: the link is added by whoever replays a step.
 */

/** Where a figure of the cost model comes from, for people who ask. */
export interface CostSource {
  readonly part: "linear" | "decode-attention" | "prefill-attention" | "head" | "host";
  readonly kind: "measured" | "scaled" | "roofline" | "assumed";
  readonly note: string;
}

/**
 * What the attention of one step works on, all its sequences together. Reused by whoever fills it.
 */
export interface AttentionShape {
  readonly decodeSequences: number;
  /**
   * KV tokens of the decoding sequences: together, the least and the most of one; 0 without any.
   */
  readonly decodeTokens: number;
  readonly decodeTokensMin: number;
  readonly decodeTokensMax: number;
  readonly chunkCount: number;
  /** (chunkCount) query tokens of each prompt, and what is computed of it before them. */
  readonly chunkTokens: Int32Array;
  readonly chunkPastTokens: Int32Array;
}

/** All results are nanoseconds, not rounded. */
export interface CostModel {
  /** B: achieved HBM bandwidth, which staged writes and loans draw on. */
  readonly hbmBytesPerSecond: number;
  /** Host time of one step that the GPU does not hide. */
  readonly hostNs: number;
  /** The same for a step that takes in prompts, where it differs. */
  readonly promptHostNs?: number;
  /** GEMMs, norms and activations of ONE layer for a batch of `tokens` query tokens. */
  linearLayerNs(tokens: number): number;
  /** Final norm and vocabulary head for the `sequences` that get a token from this step. */
  headNs(sequences: number): number;
  /**
   * Attention of ONE layer: `sequences` query tokens that read `contextTokens` KV tokens together.
   */
  decodeAttentionLayerNs(sequences: number, contextTokens: number): number;
  /** Attention of ONE layer: a chunk of one prompt over itself and `pastTokens` before it. */
  prefillAttentionLayerNs(chunkTokens: number, pastTokens: number): number;
  /** Attention of ONE layer for a whole step, by models that know what runs together. */
  stepAttentionLayerNs?(shape: AttentionShape): number;
  readonly sources: readonly CostSource[];
}
