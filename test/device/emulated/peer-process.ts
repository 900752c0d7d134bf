// Another process of the same user: owns emulated devices, or joins those of its parent.
//
// Started by memory-between-processes.test.ts; answers each message with one.

import {
  createEmulatedServer,
  joinEmulatedServer,
  type EmulatedServerHandle,
  type JoinedDevice,
} from "../../../src/device/index.ts";
import type { EmulatedMemory } from "../../../src/device/emulated/emulated-memory.ts";

export type PeerQuestion =
  | { readonly ask: "own"; readonly kind: "wasm" | "view"; readonly text: string }
  | { readonly ask: "join"; readonly handle: EmulatedServerHandle; readonly device: number }
  | { readonly ask: "read"; readonly address: number; readonly bytes: number }
  | { readonly ask: "write"; readonly address: number; readonly text: string }
  | { readonly ask: "compute-into"; readonly address: number }
  /** Past all checks of this program, as a stray pointer would. */
  | { readonly ask: "poke"; readonly address: number };

export type PeerAnswer =
  | { readonly handle: EmulatedServerHandle }
  | { readonly text: string }
  | { readonly failure: string };

let joined: JoinedDevice | null = null;

async function answer(question: PeerQuestion): Promise<PeerAnswer> {
  switch (question.ask) {
    case "own": {
      const place = { capacityBytes: 2 ** 20 };
      const server = await createEmulatedServer({
        ...{ devices: [place, place], memory: question.kind, time: "virtual" },
      });
      const { memory } = server.devices[0]!;
      memory.write(memory.allocate(64)!, Buffer.from(question.text));
      return { handle: server.processHandle! };
    }
    case "join":
      joined = joinEmulatedServer(question.handle, question.device);
      return { text: "joined" };
    case "read": {
      const target = Buffer.alloc(question.bytes);
      joined!.memory.read(question.address, target);
      return { text: target.toString() };
    }
    case "write":
      joined!.memory.write(question.address, Buffer.from(question.text));
      return { text: "written" };
    case "compute-into":
      joined!.compute.add(question.address, joined!.memory.baseAddress, 4);
      return { text: "computed" };
    case "poke":
      (joined!.memory as EmulatedMemory).window.bytes[question.address] = 1;
      return { text: "written" };
  }
}

process.on("message", (question: PeerQuestion) => {
  answer(question)
    .catch((error: unknown) => ({ failure: String(error) }))
    .then((reply) => process.send!(reply));
});
