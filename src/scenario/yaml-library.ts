/**
 * The YAML package, loaded when there is YAML to read.
 *
 * Called by scenario-text.ts and overrides.ts. Loading it takes as long as simulating thousands of
 * steps, and a scenario from options alone has none; an `import` would load it for everybody, and
 * a dynamic one would make every reader of scenarios asynchronous.
 */

import { createRequire } from "node:module";
import type * as Yaml from "yaml";

/** The same object at every call: `require` keeps what it has loaded. */
export function yamlLibrary(): typeof Yaml {
  return createRequire(import.meta.url)("yaml") as typeof Yaml;
}
