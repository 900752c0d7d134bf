/**
 * Whether memory of the operating system can lie under WebAssembly: run as a process of its own.
 *
 * Started by mapping-probe.ts; ends with 0 if it works. V8 promises nothing here, and if it does
 * not work the process may end by a signal, which is why it is not the server's.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { assert } from "../../base/index.ts";
import { LinuxMemory } from "./linux-memory.ts";
import { MappedWindow } from "./mapped-window.ts";
import { WasmCompute } from "./wasm-compute.ts";
import { PAGE_BYTES, WindowLayout } from "./window.ts";

const linux = LinuxMemory.open();
assert(linux !== null, "this is not Linux");
const layout = new WindowLayout([PAGE_BYTES, PAGE_BYTES]);
const [first, second] = layout.bases.map((base) => base / Float32Array.BYTES_PER_ELEMENT);

/** Device 0's view and device 1's: each writes its own memory and reads the other's. */
const [own, peer] = [0, 1].map(() => new MappedWindow(layout, linux, "wasm"));
own!.create(0);
peer!.create(1);
own!.attach(peer!.share(1), "read");
peer!.attach(own!.share(0), "read");

own!.floats[first!] = 2;
peer!.floats[second!] = 3;
collectGarbage();
const compute = new WasmCompute(peer!);
compute.add(layout.bases[1]!, layout.bases[0]!, 1);
assert(own!.floats[second!] === 5, "WebAssembly does not write the mapped memory");
assert(isRefused(() => compute.add(layout.bases[0]!, layout.bases[1]!, 1)), "a peer can write");
assert(own!.floats[first!] === 2, "a refused write has changed memory");

own!.detach(1);
assert(own!.floats[second!] === 0, "detached memory is still there");
peer!.close();
own!.close();
collectGarbage();

function isRefused(write: () => void): boolean {
  try {
    write();
    return false;
  } catch {
    return true;
  }
}

/** A collector that moved or freed mapped memory would do so here, not in a server. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
}
