/**
 * Finds a profile in a flat folder and reads the texts of its tables.
 *
 * Called by validate.ts. Files are `<NAME>_tp1_{attention,dense,per_sequence,skew_fit}.csv`; the
 * meta file beside them describes the profiler's run, not the engine's, and is not read.
 */

import { readdirSync, existsSync } from "node:fs";
import { join } from "node:path";
import { EmaError, suggestNames } from "../base/index.ts";
import type { ProfileText, ProfileTexts } from "../hardware/index.ts";
import { readTextFile } from "./text-file.ts";

const SUFFIX = "_tp1_attention.csv";

export interface Profile {
  readonly name: string;
  readonly texts: ProfileTexts;
}

/** @param name `null`: the only one there. @throws EmaError E_FILE, E_ARGUMENT. */
export function readProfile(folder: string, name: string | null): Profile {
  const names = profileNames(folder);
  if (names.length === 0) {
    throw new EmaError("E_FILE", `--profile ${folder}: no file named <NAME>${SUFFIX} in it`);
  }
  if (name === null && names.length > 1) {
    const list = names.join(", ");
    throw new EmaError("E_ARGUMENT", `--profile-name is missing; ${folder} has ${list}`);
  }
  const chosen = name ?? names[0]!;
  if (!names.includes(chosen)) {
    const hint = suggestNames(chosen, names);
    throw new EmaError("E_ARGUMENT", `--profile-name ${chosen}: not in ${folder}${hint}`);
  }
  const text = (table: string): ProfileText => {
    const file = join(folder, `${chosen}_tp1_${table}.csv`);
    return { file, text: readTextFile(file) };
  };
  const hasSkew = existsSync(join(folder, `${chosen}_tp1_skew_fit.csv`));
  return {
    name: chosen,
    texts: {
      attention: text("attention"),
      dense: text("dense"),
      perSequence: text("per_sequence"),
      skew: hasSkew ? text("skew_fit") : null,
    },
  };
}

function profileNames(folder: string): string[] {
  try {
    const files = readdirSync(folder).filter((file) => file.endsWith(SUFFIX));
    return files.map((file) => file.slice(0, -SUFFIX.length)).toSorted();
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown reason";
    throw new EmaError("E_FILE", `--profile ${folder}: no readable folder (${code})`, { cause });
  }
}
