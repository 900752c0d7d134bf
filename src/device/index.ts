/** The public face of the device layer: ports that every backend implements. */

export type {
  AttentionBatch,
  AttentionShape,
  Compute,
  CopyPath,
  CopyPiece,
  DeviceCopies,
  DeviceMemory,
  LayerPlace,
  Matrix,
  MemoryAccess,
  MemoryShare,
  RopePairs,
} from "./ports.ts";
export { createPlainDevices, type PlainDevice } from "./emulated/plain-devices.ts";
