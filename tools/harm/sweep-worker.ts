/**
 * A process of the sweep: takes seeds one by one and sends back verdicts.
 *
 * Forked by run-sweep.ts. It asks for nothing: each verdict it sends is answered by the next seed.
 */

import { noiseVerdictOf } from "./noise.ts";
import { verdictOf } from "./server-verdict.ts";

const judge = process.argv.includes("--noise") ? noiseVerdictOf : verdictOf;

process.on("message", (seed: number | null) => {
  if (seed === null) process.disconnect();
  else process.send!(judge(seed));
});
