/**
 * Starts the engines behind `ema serve` and `ema chat`: a checkpoint on emulated devices.
 *
 * Called by both commands' runs. It joins what the layers below offer (model, serving) into what
 * the server wants to be given, and knows no HTTP.
 */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { EmaError } from "../base/index.ts";
import { ChatPrompt, loadCheckpoint } from "../model/index.ts";
import type { HostedEngine } from "../server/index.ts";
import { ServedServer } from "../serving/index.ts";

export interface EngineChoice {
  readonly deviceBytes: readonly number[];
  /** null: the model that comes with the project. */
  readonly modelPath: string | null;
  /** null: what the model calls itself. */
  readonly modelName: string | null;
  readonly isElastic: boolean;
  readonly waitingMax?: number;
  /** Told, in one line, of an engine that has failed while others go on. */
  readonly onLoss?: (message: string) => void;
}

export interface RunningEngines {
  readonly engines: readonly HostedEngine[];
  /** What this machine cannot do, a line each. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/** Two folders up from src/cli and from dist/cli alike. */
const BUNDLED_MODEL = new URL("../../models/ema-tiny/ema-tiny.gguf", import.meta.url);

/** @throws EmaError when the model cannot be read, or a device is too small for it. */
export async function startEngines(choice: EngineChoice): Promise<RunningEngines> {
  const path = choice.modelPath ?? bundledModel();
  const checkpoint = await loadCheckpoint(path);
  const { tokenizer, chatTemplate } = checkpoint;
  const modelName = choice.modelName ?? checkpoint.name;
  const chat = new ChatPrompt(tokenizer, chatTemplate);
  const server = await ServedServer.create({
    deviceBytes: choice.deviceBytes,
    checkpoint,
    isElastic: choice.isElastic,
    onEngineLost: (name, error) => choice.onLoss?.(`${name} is lost: ${error.message}`),
    ...(choice.waitingMax === undefined ? {} : { limits: { waitingMax: choice.waitingMax } }),
    // The devices have the weights now; the file has done its part.
  }).finally(() => checkpoint.weights.close());
  const engines = server.engines.map((model, index): HostedEngine => {
    return {
      engineName: `${modelName}@gpu${index}`,
      modelName,
      model,
      tokenizer,
      chat,
      kvPlaces: (generation) => model.kvPlaces(generation),
    };
  });
  return { engines, notes: server.notes, close: () => server.close() };
}

function bundledModel(): string {
  const path = fileURLToPath(BUNDLED_MODEL);
  if (existsSync(path)) return path;
  throw new EmaError("E_FILE", `${path}: the model that comes with EMA is not there; give --model`);
}
