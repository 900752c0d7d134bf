/**
 * One file of a checkpoint: bytes by offset, every read checked against the file's length.
 *
 * Used by the readers of all formats; knows none of them. Offsets and lengths in such files are
 * claims of whoever wrote them: what they reach for must exist before memory is taken for it.
 *
 * Invariant: `read` allocates nothing that the file cannot fill.
 */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { EmaError } from "../base/index.ts";

export class CheckpointFile {
  readonly path: string;
  readonly bytes: number;
  #descriptor: number | null;

  /** @throws EmaError E_FILE when the path is not a file that can be read. */
  constructor(path: string) {
    this.path = path;
    try {
      this.#descriptor = openSync(path, "r");
    } catch (error) {
      throw unreadable(path, error);
    }
    const stat = fstatSync(this.#descriptor);
    this.bytes = stat.size;
    if (stat.isFile()) return;
    this.close();
    throw new EmaError("E_FILE", `${path}: not a file`);
  }

  /**
   * @param what names the bytes in the message: "the header", "tensor x"
   * @throws EmaError E_CHECKPOINT when the file ends before them, E_FILE when it cannot be read
   */
  read(offset: number, bytes: number, what: string): Buffer {
    this.checkRange(offset, bytes, what);
    const buffer = Buffer.allocUnsafe(bytes);
    this.readInto(offset, buffer, what);
    return buffer;
  }

  readInto(offset: number, target: Uint8Array, what: string): void {
    this.checkRange(offset, target.length, what);
    if (this.#descriptor === null) throw new EmaError("E_FILE", `${this.path}: closed`);
    let done = 0;
    while (done < target.length) {
      let got: number;
      try {
        got = readSync(this.#descriptor, target, done, target.length - done, offset + done);
      } catch (error) {
        throw unreadable(this.path, error);
      }
      if (got === 0) throw this.fault(`${what} is gone: the file shrank while it was read`);
      done += got;
    }
  }

  /** @throws EmaError E_CHECKPOINT unless the bytes lie within the file. */
  checkRange(offset: number, bytes: number, what: string): void {
    const isWhole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes);
    if (isWhole && offset >= 0 && bytes >= 0 && offset <= this.bytes - bytes) return;
    const wanted = `${what} wants ${bytes} bytes at offset ${offset}`;
    throw this.fault(`${wanted}, the file has ${this.bytes}`);
  }

  /** An error about this file's content, to be thrown. */
  fault(what: string): EmaError {
    return new EmaError("E_CHECKPOINT", `${this.path}: ${what}`);
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

function unreadable(path: string, error: unknown): EmaError {
  const reason = (error as NodeJS.ErrnoException).code ?? String(error);
  return new EmaError("E_FILE", `${path}: cannot be read (${reason})`, { cause: error });
}
