/**
 * What a `tokenizer.json` says, as far as this layer reads it itself.
 *
 * Used by the reader of Hugging Face folders and by the tokenizer over the package, which reads the
 * rest. The form is that of Hugging Face's tokenizers library.
 */

import { EmaError } from "../base/index.ts";
import { DescribedFields } from "./described-fields.ts";

export interface TokenizerDescription {
  readonly added_tokens: readonly AddedToken[];
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
  readonly normalizer?: unknown;
  readonly pre_tokenizer?: unknown;
  readonly post_processor?: unknown;
  readonly decoder?: unknown;
}

export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special?: boolean;
  /** The token swallows white space on its left, on its right. */
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
}

export interface Component {
  readonly type: string;
  readonly [key: string]: unknown;
}

/**
 * @param vocab how many ids the model has
 * @throws EmaError E_CHECKPOINT unless ids are ids and texts texts, E_MODEL_UNSUPPORTED for a model
 *   that is not BPE
 */
export function checkTokenizerDescription(
  where: string,
  value: unknown,
  vocab: number,
): TokenizerDescription {
  const root = DescribedFields.ofObject(where, value);
  const model = root.fields("model");
  if (model === null) throw root.wrong("model", "an object");
  if ((model.optionalText("type") ?? "BPE") !== "BPE") throw model.unsupported("type", "BPE");
  const entries = model.fields("vocab");
  if (entries === null) throw model.wrong("vocab", "texts with their ids");
  if (!Array.isArray(model.raw("merges"))) throw model.wrong("merges", "a list");
  const checkId = (text: string, id: unknown): void => {
    if (Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < vocab) return;
    const shown = `token ${JSON.stringify(text.slice(0, 60))} has id ${String(id)}`;
    throw new EmaError("E_CHECKPOINT", `${where}: ${shown}, the model has ${vocab}`);
  };
  for (const [text, id] of entries.entries()) checkId(text, id);
  const added = root.raw("added_tokens") ?? [];
  if (!Array.isArray(added)) throw root.wrong("added_tokens", "a list");
  for (const [at, entry] of added.entries()) {
    const token = DescribedFields.ofObject(`${where}: added_tokens[${at}]`, entry);
    checkId(token.text("content"), token.whole("id"));
    for (const key of ["special", "lstrip", "rstrip"]) token.optionalFlag(key);
  }
  return { ...(value as TokenizerDescription), added_tokens: added };
}

/** A component, and those of a sequence one by one; what is not a component is left out. */
export function componentsOf(value: unknown, depth = 0): Component[] {
  if (typeof value !== "object" || value === null || depth > 8) return [];
  const component = value as Component;
  if (typeof component.type !== "string") return [];
  const keys = ["decoders", "normalizers", "pretokenizers", "processors"];
  const inner = keys.flatMap((key) => {
    const list = component[key];
    return Array.isArray(list) ? list.flatMap((each) => componentsOf(each, depth + 1)) : [];
  });
  return [component, ...inner];
}

/** @returns the special token that is put in front of a single text, or null */
export function beginTextOf(description: TokenizerDescription): string | null {
  for (const component of componentsOf(description.post_processor)) {
    if (component.type !== "TemplateProcessing" || !Array.isArray(component["single"])) continue;
    const first = (component["single"] as unknown[])[0] as Record<string, unknown> | undefined;
    const special = first?.["SpecialToken"] as Record<string, unknown> | undefined;
    if (typeof special?.["id"] === "string") return special["id"];
  }
  return null;
}
