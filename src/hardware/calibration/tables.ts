/**
 * The shape of calibration data: what tools/calibrate.ts writes and the cost model reads.
 *
 * Each file beside this one holds the boiled-down tables of one GPU and names their source. Tables
 * are flat arrays, outermost axis first. A zero is a hole: never measured.
 */

/** t = max(flop / flopsPerSecond, bytes / bytesPerSecond) + fixedNs: a kernel without its table. */
export interface Roofline {
  readonly bytesPerSecond: number;
  readonly flopsPerSecond: number;
  readonly fixedNs: number;
}

/** y[m,n] = x[m,k] w[k,n] in bf16. */
export interface GemmTable {
  readonly roofline: Roofline;
  readonly m: readonly number[];
  readonly n: readonly number[];
  readonly k: readonly number[];
  /** (n, k, m): measured time over the roofline's, in hundredths. */
  readonly percent: readonly number[];
}

/** Attention of one layer, one query token a sequence, heads of 128. */
export interface DecodeTable {
  /** Query heads equal KV heads: other kernels are chosen there. */
  readonly isMultiHead: boolean;
  readonly kvHeads: number;
  readonly batch: readonly number[];
  readonly context: readonly number[];
  /** (batch, context), microseconds. */
  readonly us: readonly number[];
}

/** Causal attention of one layer over one whole prompt, heads of 128, no past. */
export interface PrefillTable {
  readonly isMultiHead: boolean;
  readonly heads: number;
  readonly tokens: readonly number[];
  /** (tokens), microseconds. */
  readonly us: readonly number[];
}

export interface AttentionTables {
  readonly decode: readonly DecodeTable[];
  /** Nanoseconds a further KV byte costs once decode attention is bound by HBM. */
  readonly decodeNsPerByte: number;
  readonly prefill: readonly PrefillTable[];
}

/** Everything measured on one GPU. */
export interface Calibration {
  /** The GPU it was measured on, and where the tables come from. */
  readonly gpuName: string;
  readonly source: string;
  readonly peakBytesPerSecond: number;
  readonly gemm: GemmTable;
  readonly attention: AttentionTables;
}
