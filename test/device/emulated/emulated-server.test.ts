// Every kind of emulated devices against the suites that any backend must pass.

import { describeCompute } from "../conformance/compute.ts";
import { describeDeviceCopies, type CopiesFixture } from "../conformance/device-copies.ts";
import { describeDeviceMemory } from "../conformance/device-memory.ts";
import {
  createEmulatedServer,
  createPlainDevices,
  UNPACED_LINKS,
  type EmulatedLinks,
  type EmulatedServerOptions,
} from "../../../src/device/index.ts";

const MIB = 2 ** 20;
const KINDS = ["wasm", "view", "shared"] as const;

/** Ten times slower than any bytes move here, and quick enough for a test. */
const PACED: EmulatedLinks = {
  latencyNs: 2000,
  copyCostNs: 100,
  deviceBytesPerSecond: 50e9,
  hostBytesPerSecond: 20e9,
};

describeDeviceMemory("plain, in process", (capacityBytes) => {
  const memories = createPlainDevices(capacityBytes).map((device) => device.memory);
  return { memories, close: () => memories.forEach((memory) => memory.close()) };
});
describeCompute("plain, in process", () => {
  const devices = createPlainDevices([4 * MIB, 4 * MIB, 4 * MIB]);
  const memories = devices.map((device) => device.memory);
  return { memories, compute: devices[0]!.compute, close: () => undefined };
});

for (const memory of KINDS) {
  describeDeviceMemory(`emulated, ${memory}`, async (capacityBytes) => {
    const devices = capacityBytes.map((bytes) => ({ capacityBytes: bytes }));
    const server = await createEmulatedServer({ devices, memory, time: "virtual" });
    return { memories: server.devices.map((device) => device.memory), close: server.close };
  });
  for (const kernels of ["auto", "plain"] as const) {
    describeCompute(`emulated, ${memory}, ${kernels} kernels`, async () => {
      const server = await createEmulatedServer({ ...places(), memory, kernels, time: "virtual" });
      const memories = [...server.devices, ...server.hosts].map((place) => place.memory);
      return { memories, compute: server.devices[0]!.compute, close: server.close };
    });
  }
  for (const [pace, links] of [["unpaced", UNPACED_LINKS], ["paced", PACED]] as const) {
    for (const time of ["real", "virtual"] as const) {
      describeDeviceCopies(`emulated, ${memory}, ${time} time, ${pace}`, () =>
        copiesFixture({ ...places(), memory, links, time }),
      );
    }
  }
}

/** Two devices and a host. */
function places() {
  const capacityBytes = 4 * MIB;
  return { devices: [{ capacityBytes }, { capacityBytes }], hosts: [{ capacityBytes }] };
}

async function copiesFixture(options: EmulatedServerOptions): Promise<CopiesFixture> {
  const server = await createEmulatedServer(options);
  const isReal = options.time === "real";
  let virtualNs = 0;
  return {
    memories: [...server.devices, ...server.hosts].map((place) => place.memory),
    copies: server.devices.map((device) => device.copies),
    nowNs: () => (isReal ? Math.round(performance.now() * 1e6) : virtualNs),
    pass: async (copies) => {
      if (!isReal) virtualNs = copies.nextDueNs();
      // A millisecond is a poll's patience, not a limit that anything is held to.
      else Atomics.wait(copies.arrivals, 0, copies.arrivals[0]!, 1);
    },
    close: server.close,
  };
}
