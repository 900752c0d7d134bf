/**
 * Reads the tokenizer file of llama2.c: a score and a text for each id of the model's vocabulary.
 *
 * Called by load-checkpoint.ts. The file does not say how many entries it has; the model does.
 * Ids 0, 1 and 2 are unknown, begin and end; 3 to 258 are the bytes. Layout as `run.c` reads it:
 *
 *     int32 longest text, then for each id: float score, int32 length, that many bytes
 */

import type { CheckpointFile } from "./checkpoint-file.ts";
import { ScoreTokenizer, type Piece, type PieceKind } from "./score-tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** No vocabulary is larger than this many bytes: the text of 4 million pieces. */
const FILE_BYTES_MAX = 1 << 28;

const [UNKNOWN_ID, BEGIN_ID, END_ID, FIRST_BYTE_ID] = [0, 1, 2, 3];

/** @throws EmaError E_CHECKPOINT when the file does not hold `vocab` entries and no more. */
export function readLlama2cTokenizer(file: CheckpointFile, vocab: number): Tokenizer {
  if (file.bytes > FILE_BYTES_MAX) throw file.fault("too large for a tokenizer of llama2.c");
  const bytes = file.read(0, file.bytes, "the tokenizer");
  const pieces: Piece[] = [];
  let offset = 4;
  for (let id = 0; id < vocab; id++) {
    const length = offset + 8 <= bytes.length ? bytes.readInt32LE(offset + 4) : -1;
    if (length < 0 || length > bytes.length - offset - 8) {
      throw file.fault(`ends within entry ${id}, expected ${vocab} of them`);
    }
    const score = bytes.readFloatLE(offset);
    if (Number.isNaN(score)) throw file.fault(`the score of entry ${id} is not a number`);
    const text = bytes.subarray(offset + 8, offset + 8 + length);
    pieces.push(pieceOf(id, text, score));
    offset += 8 + length;
  }
  if (offset !== bytes.length) {
    throw file.fault(`${bytes.length - offset} bytes follow the last of ${vocab} entries`);
  }
  return new ScoreTokenizer({
    pieces,
    vocab,
    beginId: BEGIN_ID,
    // Its models were trained on texts with begin between them, and none after: both end a text.
    endIds: [BEGIN_ID, END_ID],
    hasSpacePrefix: true,
    specials: [
      { id: UNKNOWN_ID, text: "<unk>", isControl: true },
      { id: BEGIN_ID, text: "<s>", isControl: true },
      { id: END_ID, text: "</s>", isControl: true },
    ],
  });
}

function pieceOf(id: number, text: Uint8Array, score: number): Piece {
  const kind: PieceKind = id === UNKNOWN_ID ? "unknown" : id <= END_ID ? "control" : "normal";
  const byte = id - FIRST_BYTE_ID;
  if (byte < 0 || byte > 255) return { kind, bytes: text, score };
  const spelled = /^<0x([0-9A-F]{2})>$/.exec(Buffer.from(text).toString("latin1"))?.[1];
  if (spelled === undefined || Number.parseInt(spelled, 16) !== byte) {
    return { kind, bytes: text, score };
  }
  return { kind: "byte", bytes: Uint8Array.of(byte), score };
}
