/**
 * What a runner tells of a step that has ended.
 *
 * Kept and filled by every runner (ports.ts), read by the engine between `poll` and the next
 * `submit`. It is one object for all steps of a runner.
 */

/** Filled by the runner when a step has ended. */
export interface StepTiming {
  startNs: number;
  endNs: number;
  /** Duration had all KV been local, and had nothing of this device been read by others. */
  localNs: number;
  unlentNs: number;
  waitNs: number;
  linkBusyNs: number;
  /** (sources) bytes read over links. */
  readonly readBytes: Float64Array;
  /** (sources) at which each that was read could be read; `null` where that is not known. */
  readonly readableBytesPerSecond: Float64Array | null;
  hits: number;
  lates: number;
  misses: number;
  /**
   * What the step read was reused by its owner meanwhile: its tokens are not published, and its
   * sequences compute them again. Never in virtual time without bytes.
   */
  isVoid: boolean;
}

/** Of no step yet. Made here for every runner: objects of one shape are read fastest. */
export function noTiming(
  sourceCount: number,
  readableBytesPerSecond: Float64Array | null = null,
): StepTiming {
  return {
    startNs: 0,
    endNs: 0,
    localNs: 0,
    unlentNs: 0,
    waitNs: 0,
    linkBusyNs: 0,
    readBytes: new Float64Array(sourceCount),
    readableBytesPerSecond,
    hits: 0,
    lates: 0,
    misses: 0,
    isVoid: false,
  };
}
