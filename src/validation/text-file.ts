/**
 * Reads one whole text file, or says in a line why not.
 *
 * Used by the readers of logs, metas and profiles; files of a run are some megabytes at most.
 */

import { readFileSync, statSync } from "node:fs";
import { EmaError, formatBytes } from "../base/index.ts";

/** A million requests are about 250 MB. */
const FILE_BYTES_MAX = 500e6;

/** @throws EmaError E_FILE */
export function readTextFile(path: string): string {
  try {
    const status = statSync(path);
    if (!status.isFile()) throw new EmaError("E_FILE", `${path}: expected a file, found none`);
    if (status.size > FILE_BYTES_MAX) {
      throw new EmaError("E_FILE", `${path}: ${formatBytes(status.size)} is too large`);
    }
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof EmaError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown reason";
    const reason = code === "ENOENT" ? "no such file" : `cannot be read (${code})`;
    throw new EmaError("E_FILE", `${path}: ${reason}`, { cause });
  }
}
