/**
 * Weights that lie in files under names: which bytes of which file each tensor is.
 *
 * Made by the readers of GGUF and safetensors, which know how their formats call tensors. What the
 * decoder needs must be there, in the right shape, and nothing may be there that it would leave
 * out: a bias that is ignored gives wrong tokens and no message.
 */

import { EmaError } from "../base/index.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import type { ModelConfig } from "./model-config.ts";
import type { TensorFormat } from "./tensor-formats.ts";
import { tensorName, tensorsOf, type CheckpointWeights, type Tensor } from "./tensors.ts";

/** A tensor as its file describes it; the bytes have been checked to lie within the file. */
export interface StoredTensor {
  readonly name: string;
  readonly file: CheckpointFile;
  readonly format: TensorFormat;
  /** Outer dimension first; a row is contiguous. */
  readonly shape: readonly number[];
  readonly offsetBytes: number;
}

export class FileWeights implements CheckpointWeights {
  readonly #files: readonly CheckpointFile[];
  readonly #stored = new Map<string, StoredTensor>();

  /**
   * @param nameOf what the format calls a tensor
   * @param isIgnored names that mean nothing to a decoder
   * @throws EmaError E_CHECKPOINT for a missing or misshapen tensor, E_MODEL_UNSUPPORTED for one
   *   that is not part of the architecture
   */
  constructor(
    files: readonly CheckpointFile[],
    config: ModelConfig,
    tensors: ReadonlyMap<string, StoredTensor>,
    nameOf: (tensor: Tensor) => string,
    isIgnored: (name: string) => boolean,
  ) {
    this.#files = files;
    const unused = new Set(tensors.keys());
    for (const tensor of tensorsOf(config)) {
      const name = nameOf(tensor);
      const stored = tensors.get(name);
      if (stored === undefined) throw files[0]!.fault(`no tensor ${name}`);
      checkShape(tensor, stored);
      this.#stored.set(keyOf(tensor), stored);
      unused.delete(name);
    }
    for (const name of unused) {
      if (isIgnored(name)) continue;
      const { file } = tensors.get(name)!;
      const what = `tensor ${name} is not part of a plain Llama decoder`;
      throw new EmaError("E_MODEL_UNSUPPORTED", `${file.path}: ${what}`);
    }
  }

  read(tensor: Tensor, firstElement: number, target: Float32Array): void {
    readStored(this.#stored.get(keyOf(tensor))!, firstElement, target, tensorName(tensor));
  }

  close(): void {
    for (const file of this.#files) file.close();
  }
}

/** Fills `target` from an element on; blocks that begin or end beside it are widened and cut. */
export function readStored(
  stored: StoredTensor,
  firstElement: number,
  target: Float32Array,
  what: string,
): void {
  const { blockNumbers, blockBytes, widen } = stored.format;
  const firstBlock = Math.floor(firstElement / blockNumbers);
  const endBlock = Math.ceil((firstElement + target.length) / blockNumbers);
  const offset = stored.offsetBytes + firstBlock * blockBytes;
  const source = stored.file.read(offset, (endBlock - firstBlock) * blockBytes, what);
  const wholeNumbers = (endBlock - firstBlock) * blockNumbers;
  if (wholeNumbers === target.length) {
    widen(source, target);
    return;
  }
  const whole = new Float32Array(wholeNumbers);
  widen(source, whole);
  const skipped = firstElement - firstBlock * blockNumbers;
  target.set(whole.subarray(skipped, skipped + target.length));
}

/**
 * @returns the bytes a tensor of this shape takes
 * @throws EmaError E_CHECKPOINT when no file could hold it, or a row is not whole blocks
 */
export function storedBytes(
  file: CheckpointFile,
  name: string,
  format: TensorFormat,
  shape: readonly number[],
): number {
  let numbers = 1;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 1) {
      throw file.fault(`tensor ${name} has a dimension of ${size}`);
    }
    numbers *= size;
  }
  if ((shape.at(-1) ?? 1) % format.blockNumbers !== 0) {
    throw file.fault(`rows of tensor ${name} are not whole blocks of ${format.name}`);
  }
  return (numbers / format.blockNumbers) * format.blockBytes;
}

/** A name without control characters, which can stand in a message of one line. */
export function isPrintable(name: string): boolean {
  return !/\p{Cc}|\p{Zl}|\p{Zp}/u.test(name);
}

function checkShape(tensor: Tensor, stored: StoredTensor): void {
  const isNorm = tensor.rows === 1;
  const wanted = isNorm ? [tensor.columns] : [tensor.rows, tensor.columns];
  // A matrix of one row may be written without its outer dimension, and a norm with it.
  const found = stored.shape.filter((size, axis) => size !== 1 || axis > 0);
  const trimmed = wanted.filter((size, axis) => size !== 1 || axis > 0);
  const isSame = found.every((size, axis) => size === trimmed[axis]);
  if (isSame && found.length === trimmed.length) return;
  const shapes = `${stored.shape.join(" x ")}, expected ${wanted.join(" x ")}`;
  throw stored.file.fault(`tensor ${stored.name} is ${shapes}`);
}

function keyOf(tensor: Tensor): string {
  return `${tensor.layer} ${tensor.part}`;
}
