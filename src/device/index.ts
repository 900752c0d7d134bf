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
export {
  createEmulatedServer,
  joinEmulatedServer,
  type EmulatedDevice,
  type EmulatedServer,
  type EmulatedServerHandle,
  type EmulatedServerOptions,
  type JoinedDevice,
} from "./emulated/emulated-server.ts";
export { UNPACED_LINKS, type EmulatedLinks } from "./emulated/link-ports.ts";
export { siblingModule, startThread } from "./emulated/module-thread.ts";
export { hasThreadEnded, ownThread } from "./emulated/thread-life.ts";
export { BackgroundClearing } from "./background-clearing.ts";
