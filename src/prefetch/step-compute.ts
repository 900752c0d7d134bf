/**
 * What the planner is told of a step's compute and of the links: plain numbers, no model, no GPU.
 *
 * Filled by whoever knows the batch (scheduler, simulator, engine) from its cost model; read by
 * the access mode and by the timeline. Both are values of one step and may be reused objects.
 */

/**
 * What one step's compute costs per layer, had all its KV been in local HBM. Float nanoseconds.
 */
export interface StepCompute {
  layers: number;
  /** Before the first layer; the GPU computes nothing, links may run. */
  hostNs: number;
  /** After the last layer. */
  headNs: number;
  /** GEMMs, norms and activations of one layer. */
  linearLayerNs: number;
  /** Attention of one layer with all KV in local HBM. */
  attentionLayerNs: number;
  /**
   * Of the two, the part that waits for HBM: what others read there makes it longer. All of both
   * unless it is known.
   */
  hbmLayerNs?: number;
  /** B: achieved HBM bandwidth of the borrower. */
  hbmBytesPerSecond: number;
}

/** The links of a borrower. */
export interface LinkCosts {
  /** N: its ingress port, one way, shared by all lenders. */
  portBytesPerSecond: number;
  /** One copy occupies its engine for this long beside its bytes. */
  copyCostNs: number;
  /** Paid once a train of copies. */
  latencyNs: number;
}
