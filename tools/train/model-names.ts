/**
 * What the file of a trained model says of itself, and how its dialogues are written.
 *
 * Called by the trainer and by the test that reads a file back. The template is Jinja, as GGUF
 * files carry it; training-text.ts writes the same form, and a test holds the two together.
 */

import type { GgufNames } from "./gguf-writer.ts";
import { SPECIALS } from "./training-text.ts";

export const CHAT_TEMPLATE =
  "{{ bos_token }}{% for message in messages %}" +
  "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

export function describeModel(name: string): GgufNames {
  return {
    name,
    description: "A very small Llama trained from nothing on generated text, for demonstrations",
    chatTemplate: CHAT_TEMPLATE,
    beginId: SPECIALS.indexOf("<|begin|>"),
    endId: SPECIALS.indexOf("<|end|>"),
  };
}
