/**
 * `ema chat`: a conversation in the terminal, and where its KV lies while it goes on.
 *
 * Registered by main.ts. Options alone: what chats is loaded when the command runs.
 */

import type { Command } from "commander";
import { DEVICES_DEFAULT } from "./serve-devices.ts";

const EXAMPLES = `
Without --url the chat starts a server of its own, over emulated devices. The last line of the
terminal shows, while an answer comes, where the conversation's KV cache lies: on the engine's own
device, borrowed from others, or on the host. Without a terminal each line of input is a message and
answers go to stdout.

Examples:
  $ ema chat
  $ ema chat --model stories15M.gguf --devices emulated:4x32MiB --temperature 0.7
  $ ema chat --url http://127.0.0.1:8000
  $ echo "Tell me a story" | ema chat --seed 1`;

/** Options as commander hands them over: texts, unchecked. */
export interface RawChatOptions {
  readonly url?: string;
  readonly apiKey?: string;
  readonly devices: string;
  readonly model?: string;
  readonly static?: boolean;
  readonly system?: string;
  readonly temperature: string;
  readonly maxTokens?: string;
  readonly seed?: string;
}

/** Adds the command to the program. */
export function registerChat(program: Command): void {
  program
    .command("chat")
    .summary("talk to a model, and see where its KV cache lies")
    .description("A conversation in the terminal, with a server of its own or a running one.")
    .option("--url <address>", "a running server, like http://127.0.0.1:8000")
    .option("--api-key <key>", "the running server's key; better set EMA_API_KEY")
    .option("--devices <spec>", "devices of its own server", DEVICES_DEFAULT)
    .option("--model <model>", "a model's file; with --url, a name that the server knows")
    .option("--static", "engines keep to their own memory: no lending, for comparison")
    .option("--system <text>", "what the model is told before the conversation")
    .option("--temperature <number>", "0 for the likeliest words, up to 2", "0.7")
    .option("--max-tokens <count>", "longest answer (default: what the context leaves)")
    .option("--seed <number>", "the same seed and words give the same answers")
    .addHelpText("after", EXAMPLES)
    .action(async (options: RawChatOptions, command: Command) => {
      const { runChat } = await import("./chat-run.ts");
      const isDevicesGiven = command.getOptionValueSource("devices") === "cli";
      await runChat(options, isDevicesGiven);
    });
}
