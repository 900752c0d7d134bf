/**
 * What EMA knows of one GPU: sizes and achieved speeds, not how they were measured.
 *
 * Rows live in gpu-catalogue.ts, each figure with its source. Everything that turns bytes into time
 * starts from here.
 */

/** How a GPU is wired: SXM boards have NVLink, PCIe cards reach peers through the host's root. */
export type FormFactor = "sxm" | "pcie";

export interface Gpu {
  /** Short name as scenarios write it: `a100-40g`. */
  readonly name: string;
  /** As people say it: `A100-SXM4-40GB`. */
  readonly label: string;
  readonly formFactor: FormFactor;
  readonly hbmBytes: number;
  readonly hbmPeakBytesPerSecond: number;
  /** B of docs/METHOD.md: what memory-bound steps achieve. */
  readonly hbmBytesPerSecond: number;
  /** F of docs/METHOD.md: bf16 FLOP/s that prefill GEMMs achieve. */
  readonly flopsPerSecond: number;
  /** N: one way, copy engine, one GPU's ingress or egress port with all its peers together. */
  readonly portBytesPerSecond: number;
  readonly hostBytesPerSecond: number;
}
