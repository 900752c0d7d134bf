/**
 * Reads a GGUF file for tests, straight from the specification and apart from the product's reader.
 *
 * Called by tests of the writer and of the shipped model. Types that the writer does not use are
 * failures.
 */

export interface ReadTensor {
  readonly dimensions: number[];
  readonly type: number;
  /** From the start of the data. */
  readonly start: number;
  readonly values: Float32Array;
}

export interface ReadFile {
  readonly metadata: Map<string, unknown>;
  readonly tensors: Map<string, ReadTensor>;
}

export function readGguf(bytes: Uint8Array): ReadFile {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let place = 0;
  const u32 = (): number => view.getUint32((place += 4) - 4, true);
  const u64 = (): number => Number(view.getBigUint64((place += 8) - 8, true));
  const string = (): string => {
    const length = u64();
    return Buffer.from(bytes.subarray(place, (place += length))).toString("utf8");
  };
  const value = (type: number): unknown => {
    if (type === 4) return u32();
    if (type === 5) return view.getInt32((place += 4) - 4, true);
    if (type === 6) return view.getFloat32((place += 4) - 4, true);
    if (type === 7) return bytes[place++] === 1;
    if (type === 8) return string();
    if (type !== 9) throw new Error(`type ${type}`);
    const inner = u32();
    return Array.from({ length: u64() }, () => value(inner));
  };
  if (u32() !== 0x46554747 || u32() !== 3) throw new Error("not a GGUF file of version 3");
  const [tensorCount, keyCount] = [u64(), u64()];
  const metadata = new Map<string, unknown>();
  for (let index = 0; index < keyCount; index++) metadata.set(string(), value(u32()));
  const infos = Array.from({ length: tensorCount }, () => ({
    name: string(),
    dimensions: Array.from({ length: u32() }, () => u64()),
    type: u32(),
    start: u64(),
  }));
  const data = Math.ceil(place / 32) * 32;
  const tensors = new Map<string, ReadTensor>();
  for (const { name, ...info } of infos) {
    const count = info.dimensions.reduce((product, size) => product * size, 1);
    const values = Float32Array.from({ length: count }, (_, index) => {
      if (info.type === 0) return view.getFloat32(data + info.start + 4 * index, true);
      if (info.type !== 8) throw new Error(`tensor type ${info.type}`);
      const block = data + info.start + 34 * Math.floor(index / 32);
      return half(view.getUint16(block, true)) * view.getInt8(block + 2 + (index % 32));
    });
    tensors.set(name, { ...info, values });
  }
  return { metadata, tensors };
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
