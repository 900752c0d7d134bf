/**
 * What emulated devices do: kernels in GFLOP/s, copies in GB/s: `npx tsx bench/device.bench.ts`.
 *
 * Every figure is the best of several rounds, and a ratio to the plain kernels, or to a copy by the
 * calling thread, of the same run: absolute figures are this machine's, at this load.
 */

import { loadavg } from "node:os";
import {
  createEmulatedServer,
  type Compute,
  type DeviceCopies,
  type EmulatedServer,
} from "../src/device/index.ts";

const MIB = 2 ** 20;
const NS_PER_MS = 1e6;
const ROUNDS = 7;
const ROUND_MS = 60;

const SHAPES = [
  { name: "matvec 768x288", outs: 768, columns: 288, rows: 1 },
  { name: "matvec 4096^2", outs: 4096, columns: 4096, rows: 1 },
  { name: "matmul 64x4096^2", outs: 4096, columns: 4096, rows: 64 },
] as const;

/** One device with room for the largest matrix, and a peer. */
async function serve(kernels: "auto" | "plain"): Promise<EmulatedServer> {
  const devices = [{ capacityBytes: 96 * MIB }, { capacityBytes: 96 * MIB }];
  return createEmulatedServer({ devices, time: "real", kernels });
}

/** @returns nanoseconds of one call, the least of all rounds. */
function timeNs(call: () => void): number {
  call();
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    let calls = 0;
    do {
      call();
      calls++;
    } while (performance.now() - start < ROUND_MS);
    best = Math.min(best, ((performance.now() - start) * NS_PER_MS) / calls);
  }
  return best;
}

function linearGflops(server: EmulatedServer, compute: Compute): number[] {
  const { memory } = server.devices[0]!;
  const matrix = memory.allocate(64 * MIB)!;
  const [x, out] = [memory.allocate(4 * MIB)!, memory.allocate(4 * MIB)!];
  memory.write(matrix, noise(16 * MIB));
  memory.write(x, noise(MIB));
  const gflops = SHAPES.map(({ outs, columns, rows }) => {
    const weights = { address: matrix, rows: outs, columns };
    return (2 * outs * columns * rows) / timeNs(() => compute.linear(out, x, weights, rows));
  });
  for (const address of [matrix, x, out]) memory.free(address);
  return gflops;
}

/** @returns `count` floats between -1 and 1 as bytes. */
function noise(count: number): Uint8Array {
  const value = (index: number): number => ((index * 7919) % 997) / 498.5 - 1;
  return new Uint8Array(Float32Array.from({ length: count }, (_, index) => value(index)).buffer);
}

/** @returns bytes a nanosecond through the copy thread, and of a copy by this thread. */
function copyRates(server: EmulatedServer, bytes: number): [number, number] {
  const [own, peer] = server.devices.map((device) => device.memory);
  const [target, source] = [own!.allocate(bytes)!, peer!.allocate(bytes)!];
  const { copies } = server.devices[0]!;
  const piece = { sourceAddress: source, targetAddress: target, bytes };
  const staging = new Uint8Array(bytes);
  const threadNs = timeNs(() => {
    copies.submit(1, { from: 1, to: 0 }, [piece], Infinity, 0);
    wait(copies);
  });
  const directNs = timeNs(() => own!.read(source, staging));
  own!.free(target);
  peer!.free(source);
  return [bytes / threadNs, bytes / directNs];
}

function wait(copies: DeviceCopies): void {
  for (;;) {
    const count = Atomics.load(copies.arrivals, 0);
    if (copies.poll(0) !== -1) return;
    Atomics.wait(copies.arrivals, 0, count, 1000);
  }
}

console.log(`load ${loadavg()[0]!.toFixed(2)} on Node ${process.version}`);
const fast = await serve("auto");
const plain = await serve("plain");
console.log(`memory ${fast.memoryKind}, kernels ${fast.kernels}`, ...fast.notes);
const [fastGflops, plainGflops] = [fast, plain].map((server) =>
  linearGflops(server, server.devices[0]!.compute),
);
console.log("\nlinear, one thread        GFLOP/s    plain    ratio");
SHAPES.forEach(({ name }, index) => {
  const [found, base] = [fastGflops![index]!, plainGflops![index]!];
  const cells = [found.toFixed(1), base.toFixed(1), (found / base).toFixed(1)];
  console.log(name.padEnd(24), ...cells.map((cell) => cell.padStart(8)));
});
console.log("\ncopy from a peer          GB/s by thread    by caller    ratio");
for (const bytes of [64 * 1024, MIB, 16 * MIB]) {
  const [thread, direct] = copyRates(fast, bytes);
  const cells = [thread.toFixed(2), direct.toFixed(2), (thread / direct).toFixed(2)];
  console.log(`${bytes / 1024} KiB`.padEnd(24), ...cells.map((cell) => cell.padStart(12)));
}
await Promise.all([fast.close(), plain.close()]);
