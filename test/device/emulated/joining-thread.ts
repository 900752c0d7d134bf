// A thread that computes for a device: waits for an arrival, then adds what has arrived.
//
// Started by thread-copies.test.ts.

import { parentPort, workerData } from "node:worker_threads";
import { joinEmulatedServer, type EmulatedServerHandle } from "../../../src/device/index.ts";

export interface JoiningThreadData {
  readonly handle: EmulatedServerHandle;
  readonly device: number;
  readonly arrivalCell: number;
  readonly source: number;
  readonly target: number;
  readonly count: number;
}

const { handle, device, arrivalCell, source, target, count } = workerData as JoiningThreadData;
const { memory, compute, arrivals, close } = joinEmulatedServer(handle, device);
parentPort!.postMessage("waiting", []);
Atomics.wait(arrivals!, arrivalCell, 0);
compute.add(target, source, count);
compute.finish();
const isFull = memory.allocate(1) === null;
close();
parentPort!.postMessage({ isFull }, []);
