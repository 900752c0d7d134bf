/**
 * What the scheduler needs of memory: a port that the engine implements over cache, arena and pool.
 *
 * A miss is an answer, not an error: "coming" means that blocks will be free without anybody being
 * preempted (a withdrawal, a recall or a move is under way), "none" that somebody has to give way.
 */

export type MemoryAnswer = "ready" | "coming" | "none";

export interface MemoryPort {
  /** Tries to have so many local blocks free now. */
  obtainLocal(blocks: number, nowNs: number): MemoryAnswer;
  /**
   * Blocks that all sequences together may occupy: its own less the ring, plus what is borrowed.
   */
  capacityBlocks(): number;
  /** The most blocks a single request could ever get here, with all that might be borrowed. */
  capacityMaxBlocks(): number;
  /** Blocks free in held slices or in own slices that come back on demand. */
  freeBlocks(): number;
  /** Local blocks that prompts leave to decoding sequences, so that these never wait for a move. */
  readonly chunkReserveBlocks: number;
  /** Local blocks free now. */
  freeLocalBlocks(): number;
  /** Whether it lends or borrows: who decides on that reads claims between steps. */
  readonly isElastic: boolean;
}

/** How much of each source may be read while one step lasts. */
export interface LinkPort {
  /** Bytes per second at which the engine may read each source now; 0: not at all. */
  readonly sourceBytesPerSecond: Float64Array;
  /** All sources together. */
  readonly portBytesPerSecond: number;
}

/** What the scheduler tells the engine while it decides. */
export interface SchedulerEvents {
  failed(request: number, reason: "beyond-context" | "larger-than-memory" | "timeout"): void;
  preempted(request: number, row: number, recomputedTokens: number): void;
  admitted(request: number, row: number): void;
}
