/**
 * What runners count of how blocks are read, beside their steps' timing.
 *
 * Written by runners that move real bytes; read by tests and metrics. Plain numbers that only grow.
 */

export interface ReadCounts {
  stagedBlocks: number;
  directBlocks: number;
  /** Staged by the plan, and read in place because the ring had no unit left. */
  overflowBlocks: number;
  voidSteps: number;
  interruptedSteps: number;
}

export function newReadCounts(): ReadCounts {
  return {
    stagedBlocks: 0,
    directBlocks: 0,
    overflowBlocks: 0,
    voidSteps: 0,
    interruptedSteps: 0,
  };
}
