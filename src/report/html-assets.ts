/**
 * The chart library as text, from the installed package, so that the page needs no network.
 *
 * Called by html-report.ts. uPlot (MIT licence, carried into the page) is a dependency, not a copy
 * in this repository.
 *
 * @throws EmaError E_FILE when the package is not installed whole.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EmaError } from "../base/index.ts";

export interface ChartLibrary {
  readonly script: string;
  readonly style: string;
  readonly license: string;
}

export function chartLibrary(): ChartLibrary {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve("uplot"));
    return {
      script: readFileSync(join(folder, "uPlot.iife.min.js"), "utf8"),
      style: readFileSync(join(folder, "uPlot.min.css"), "utf8"),
      license: readFileSync(join(folder, "..", "LICENSE"), "utf8"),
    };
  } catch (cause) {
    const message = "the report needs the package uplot, which is not installed: run npm ci";
    throw new EmaError("E_FILE", message, { cause });
  }
}
