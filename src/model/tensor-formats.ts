/**
 * How numbers lie in checkpoint files, and how they become float32.
 *
 * Used by the readers of GGUF and safetensors. F32, F16 and BF16 hold a number each; Q8_0 and Q4_0
 * hold blocks of 32 numbers with one scale (layouts: the GGUF specification and ggml's quantisation
 * formats, github.com/ggml-org/ggml, the GGUF document and ggml-common.h):
 *
 *     Q8_0:  | scale F16 | 32 signed bytes |                      number i = scale * byte i
 *     Q4_0:  | scale F16 | 16 bytes, two nibbles each |           number i = scale * (nibble - 8)
 *            low nibbles are numbers 0 to 15, high ones 16 to 31
 */

export interface TensorFormat {
  readonly name: "F32" | "F16" | "BF16" | "Q8_0" | "Q4_0";
  /** Numbers in one block; a row is whole blocks. */
  readonly blockNumbers: number;
  readonly blockBytes: number;
  /** @param source whole blocks @param target as many numbers as they hold */
  readonly widen: (source: Buffer, target: Float32Array) => void;
}

export const F32: TensorFormat = {
  name: "F32",
  blockNumbers: 1,
  blockBytes: 4,
  widen: (source, target) => {
    new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(source);
  },
};

export const F16: TensorFormat = {
  name: "F16",
  blockNumbers: 1,
  blockBytes: 2,
  widen: (source, target) => {
    for (let at = 0; at < target.length; at++) {
      target[at] = halfToFloat(source.readUInt16LE(2 * at));
    }
  },
};

/** The upper half of a float32. */
export const BF16: TensorFormat = {
  name: "BF16",
  blockNumbers: 1,
  blockBytes: 2,
  widen: (source, target) => {
    const bits = new Uint32Array(target.buffer, target.byteOffset, target.length);
    for (let at = 0; at < bits.length; at++) bits[at] = source.readUInt16LE(2 * at) << 16;
  },
};

export const Q8_0: TensorFormat = {
  name: "Q8_0",
  blockNumbers: 32,
  blockBytes: 34,
  widen: (source, target) => {
    for (let block = 0; block * 32 < target.length; block++) {
      const start = block * 34;
      const scale = halfToFloat(source.readUInt16LE(start));
      for (let at = 0; at < 32; at++) {
        target[block * 32 + at] = scale * source.readInt8(start + 2 + at);
      }
    }
  },
};

export const Q4_0: TensorFormat = {
  name: "Q4_0",
  blockNumbers: 32,
  blockBytes: 18,
  widen: (source, target) => {
    for (let block = 0; block * 32 < target.length; block++) {
      const start = block * 18;
      const scale = halfToFloat(source.readUInt16LE(start));
      for (let at = 0; at < 16; at++) {
        const pair = source[start + 2 + at]!;
        target[block * 32 + at] = scale * ((pair & 15) - 8);
        target[block * 32 + 16 + at] = scale * ((pair >>> 4) - 8);
      }
    }
  },
};

/** IEEE 754 binary16: 1 sign bit, 5 of exponent, 10 of fraction. */
export function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
