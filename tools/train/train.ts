/**
 * The program that trains the model in the box: `npm run train -- --out FOLDER`.
 *
 * Run by hand; nothing of the product calls it. It writes FOLDER/checkpoint.bin every few minutes,
 * FOLDER/log.csv a line a report (step, tokens, loss, loss on unseen text, loss on copies, length
 * of the gradient, rate, seconds; nothing where there is none), and FOLDER/NAME.gguf with each
 * checkpoint. A run that was ended, however, goes on from its last checkpoint when it is started
 * again with the same folder, whose options then hold; the number of steps alone may be another.
 */

import { appendFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { Prng } from "../../src/base/prng.ts";
import { trainVocabulary } from "./bpe-trainer.ts";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { compileKernels } from "./kernels.ts";
import { describeModel } from "./model-names.ts";
import { writeGguf } from "./gguf-writer.ts";
import { DEFAULTS, OPTION_HELP, type RunOptions, shapeOf } from "./run-options.ts";
import { Sampler } from "./sampler.ts";
import { SPECIALS, STREAMS, vocabularyText } from "./training-text.ts";
import { TrainingRun } from "./training-run.ts";

const REPORT_STEPS = 50;
const VALIDATE_STEPS = 200;
const CHECKPOINT_SECONDS = 240;
/** Positions of a sample with its question: every token costs a pass over all of them. */
const SAMPLE_LENGTH = 96;
const SAMPLES = [
  "Hello!",
  "What colour is the sky?",
  "What is seven plus five?",
  "Tom has a red ball. Mia has a blue kite. What colour is the kite?",
  "Tell me a story about a fox.",
];

/** Options of the command line over those of the checkpoint over the defaults. */
function readOptions(): { folder: string; options: RunOptions } {
  const names = Object.keys(DEFAULTS) as (keyof RunOptions)[];
  const { values } = parseArgs({
    options: {
      out: { type: "string" },
      help: { type: "boolean" },
      ...Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
    },
  });
  if (values["help"] === true || values["out"] === undefined) {
    console.log(`npm run train -- --out FOLDER [--OPTION VALUE]...\n${OPTION_HELP}`);
    process.exit(values["help"] === true ? 0 : 2);
  }
  const options: Record<string, number | string> = { ...DEFAULTS };
  for (const name of names) {
    const given = (values as Record<string, string | boolean | undefined>)[name];
    if (typeof given !== "string") continue;
    const value = typeof DEFAULTS[name] === "number" ? Number(given) : given;
    if (Number.isNaN(value)) {
      console.error(`--${name} ${given}: expected a number`);
      process.exit(2);
    }
    options[name] = value;
  }
  return { folder: values["out"] as string, options: options as unknown as RunOptions };
}

async function main(): Promise<void> {
  const { folder, options: asked } = readOptions();
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "checkpoint.bin");
  const saved = existsSync(path) ? readCheckpoint(path) : null;
  const options = { ...asked, ...saved?.options, steps: asked.steps } as RunOptions;
  const vocabulary =
    saved?.vocabulary ??
    trainVocabulary(
      vocabularyText(options.seed, options.vocabularyDocuments),
      SPECIALS,
      options.vocabulary,
    );
  const module = await compileKernels();
  const shape = shapeOf(options);
  const run = new TrainingRun(module, shape, vocabulary, options);
  if (saved !== null) run.restore(saved.step, saved.arrays);
  console.log(`${run.parameterCount} parameters, vocabulary of ${vocabulary.tokens.length}`);
  const save = (seconds: number): void => {
    const plain = { ...options } as unknown as Record<string, number | string>;
    const rest = { step: run.step, secondsSpent: seconds, options: plain, vocabulary };
    writeCheckpoint(path, { ...rest, arrays: run.arrays() });
    const file = writeGguf(shape, run.parameters(), vocabulary, describeModel(options.name));
    writeFileSync(join(folder, `${options.name}.gguf`), file);
  };
  const before = saved?.secondsSpent ?? 0;
  const start = performance.now();
  const spent = (): number => before + (performance.now() - start) / 1000;
  let savedAt = spent();
  while (run.step < options.steps) {
    run.advance();
    const isEnd = run.step === options.steps;
    if (run.step % REPORT_STEPS === 0 || isEnd) {
      const { loss, copyLoss, norm, rate, tokens } = run.report();
      const unseen = run.step % VALIDATE_STEPS === 0 || isEnd ? run.validate() : null;
      const row = [run.step, tokens, loss, unseen, copyLoss, norm, rate, spent()];
      const line = row.map((value) => (value === null ? "" : Number(value.toPrecision(5)))).join();
      appendFileSync(join(folder, "log.csv"), `${line}\n`);
      console.log(line);
    }
    if (spent() - savedAt > CHECKPOINT_SECONDS || isEnd) {
      savedAt = spent();
      save(savedAt);
    }
  }
  const sampler = new Sampler(module, shape, run.encoder, SAMPLE_LENGTH);
  sampler.load(run.parameters());
  for (const question of SAMPLES) {
    const prng = new Prng(options.seed, STREAMS.sampling);
    console.log(`> ${question}\n${sampler.answer([question], prng, 0)}`);
  }
}

await main();
