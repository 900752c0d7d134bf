/**
 * What EMA needs of a device: memory that peers map, a copy engine, operations of a decoder.
 *
 * Implemented by backends (emulated/, later cuda/), none of which knows another. Used by the layers
 * that move real bytes: the decoder (model) and the engine in real time (serving). A device knows
 * neither blocks nor leases nor tokens' meaning.
 *
 * An address is a byte offset in the window of whoever holds the port: its own device's memory and
 * every peer's that it has attached lie in it, so that a kernel reads local, staged and borrowed
 * bytes alike. Floats are 4 bytes, little-endian; addresses of floats are multiples of 4.
 *
 *     window:  | own memory (read, write) | peer 1 (read) | peer 2 (read) | host (read, write) |
 *
 * What finishes later is submitted and polled; nothing calls back.
 */

/** How much of a device's memory another process or thread may do. */
export type MemoryAccess = "read" | "read-write";

/** Memory of one device, as one holder sees it. */
export interface DeviceMemory {
  /** Where the device's own memory begins in this window. */
  readonly baseAddress: number;
  readonly capacityBytes: number;
  /** The granule in which memory is created; allocations are whole pages. */
  readonly pageBytes: number;
  /** Bytes that no allocation holds. */
  readonly freeBytes: number;
  /**
   * Only the holder that created the memory gives it out; for all others it is full.
   * @returns the address of cleared memory, or `null`: out of memory.
   */
  allocate(bytes: number): number | null;
  /** @param address as `allocate` gave it. */
  free(address: number): void;
  write(address: number, bytes: Uint8Array): void;
  /** Fills `target` from `address` on. */
  read(address: number, target: Uint8Array): void;
  clear(address: number, bytes: number): void;
  /** What a peer needs to attach this memory: plain data, for a thread or a process. */
  share(): MemoryShare;
  /** @returns the address at which the peer's memory begins in this window. */
  attach(share: MemoryShare, access: MemoryAccess): number;
  detach(address: number): void;
  /** Gives everything back; views and addresses are void afterwards. */
  close(): void;
}

/** Names memory of a device to others of the same user; says nothing to anybody else. */
export interface MemoryShare {
  readonly backend: string;
  readonly device: number;
  readonly capacityBytes: number;
  /** How the backend finds it again: a path, a handle in text. */
  readonly handle: string;
}

/** One contiguous piece of a copy. */
export interface CopyPiece {
  readonly sourceAddress: number;
  readonly targetAddress: number;
  readonly bytes: number;
}

/** Copies into (or out of, to the host) one device, carried out in order of submission per path. */
export interface DeviceCopies {
  /**
   * Counters that threads share. One goes up by one when a copy that names it has arrived, with
   * Atomics.notify: a thread that computes waits here with Atomics.wait, and asks nobody. Cell 0
   * counts every copy of the device: a loop that has nothing else to do waits for that one.
   */
  readonly arrivals: Int32Array;
  /**
   * @param id the caller's, below 2^31; unique among copies under way
   * @param path which pair of places: copies of one path are first in, first out
   * @param pieces read before `submit` returns
   * @param bytesPerSecondMax how fast it may go; Infinity: as fast as the path
   * @param arrivalCell which of `arrivals` it counts in besides cell 0; none if left out
   */
  submit(
    id: number,
    path: CopyPath,
    pieces: readonly CopyPiece[],
    bytesPerSecondMax: number,
    nowNs: number,
    arrivalCell?: number,
  ): void;
  /** @returns the id of a copy whose bytes are all there by now, or -1. */
  poll(nowNs: number): number;
  /**
   * When something could end; Infinity with nothing under way. In real time bytes may come later
   * than said: when `poll` then says -1, wait for cell 0 of `arrivals`.
   */
  nextDueNs(): number;
  /**
   * Blocks until cell 0 of `arrivals` is not `seen`, at most `timeoutMs`; not at all in virtual
   * time. A failure of the device that comes meanwhile is thrown by the next `poll`: who blocks is
   * told of nothing else.
   */
  waitForArrival(seen: number, timeoutMs: number): void;
  close(): void;
}

/** The places a copy goes between, by number: devices first, then hosts. */
export interface CopyPath {
  readonly from: number;
  readonly to: number;
}

/** How a matrix is kept in memory: rows of floats; row r begins at `address + r * columns * 4`. */
export interface Matrix {
  readonly address: number;
  readonly rows: number;
  readonly columns: number;
}

/** How pairs of a head are turned by RoPE: neighbours (llama2.c), or halves (Hugging Face). */
export type RopePairs = "neighbours" | "halves";

/** Which tokens a batch has; arrays may be longer than the counts say. */
export interface AttentionBatch {
  readonly tokenCount: number;
  /** (tokens) which sequence of the batch, and its position in it, from 0. */
  readonly sequenceOfToken: Int32Array;
  readonly positionOfToken: Int32Array;
  /** (sequences + 1) where each sequence's blocks begin in the block columns. */
  readonly firstBlock: Int32Array;
  /** (blocks) address of the slice, or of the staged copy, and the block's index in it. */
  readonly sliceAddress: Float64Array;
  readonly indexInSlice: Int32Array;
  readonly blockTokens: number;
}

/**
 * Where the K and V of one layer lie in every block of a batch:
 *
 *     K of block b: sliceAddress[b] + indexInSlice[b] * blockStrideBytes + layerOffsetBytes
 *     V of block b: K + blockTokens * kvHeads * headDim * 4
 *     K of token t in it: + t * kvHeads * headDim * 4
 */
export interface LayerPlace {
  readonly blockStrideBytes: number;
  readonly layerOffsetBytes: number;
}

export interface AttentionShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/**
 * The operations of a decoder, in the order in which they are called; `finish` waits for all.
 *
 * Batch invariance: an output element is reduced in one fixed order, whatever the number of rows,
 * the chunk and the place of the KV. Equal inputs give equal bits in any batch.
 */
export interface Compute {
  /** Row i of `out` (ids.length x table.columns) becomes row ids[i] of the table. */
  embed(out: number, table: Matrix, ids: Int32Array): void;
  /** out[r] = x[r] / rms(x[r]) * weight; `out` may be `x`. */
  rmsNorm(out: number, x: number, weight: number, rows: number, columns: number, eps: number): void;
  /** out (rows x matrix.rows) = x (rows x matrix.columns) times the matrix turned. */
  linear(out: number, x: number, matrix: Matrix, rows: number): void;
  /**
   * Turns the heads of each row in place.
   * @param frequencies (headDim / 2) radians a position; scalings are in them
   * @param magnitude what cos and sin are multiplied by (YaRN's attention factor); 1 otherwise
   */
  rope(
    x: number,
    rows: number,
    heads: number,
    headDim: number,
    positions: Int32Array,
    frequencies: Float64Array,
    pairs: RopePairs,
    magnitude: number,
  ): void;
  /** Puts the K and V rows of the batch's tokens into their blocks, which are local. */
  writeKv(
    k: number,
    v: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
  ): void;
  /** Causal attention of each token over its sequence's positions up to its own. */
  attend(
    out: number,
    query: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
    scale: number,
  ): void;
  /** out = silu(gate) * up; `out` may be either. */
  swiGlu(out: number, gate: number, up: number, count: number): void;
  /** x = x + y. */
  add(x: number, y: number, count: number): void;
  /** Copies row `rows[i]` of x to row i of `out`. */
  gatherRows(out: number, x: number, rows: Int32Array, columns: number): void;
  /** All that was called has been done, and its results can be read. */
  finish(): void;
}
