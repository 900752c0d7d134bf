/**
 * A random number by its place, not by its turn: the same key and counter give the same number.
 *
 * Used by the sampler (key: a request's seed, counter: the position) and by randomCheckpoint (key:
 * the model's seed, counter: which element). The function is Philox4x32 with ten rounds, of
 * "Parallel random numbers: as easy as 1, 2, 3" (SC 2011); the test holds its published answers.
 */

const ROUNDS = 10;
const [MULTIPLIER_0, MULTIPLIER_1] = [0xd2511f53, 0xcd9e8d57];
const [KEY_STEP_0, KEY_STEP_1] = [0x9e3779b9, 0xbb67ae85];

/**
 * Replaces the counter by four random words.
 * @param words (4) the counter going in, the draw coming out
 */
export function philox(words: Uint32Array, key0: number, key1: number): void {
  let [w0, w1, w2, w3] = [words[0]!, words[1]!, words[2]!, words[3]!];
  let [k0, k1] = [key0 >>> 0, key1 >>> 0];
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = highHalf(MULTIPLIER_0, w0);
    const low0 = Math.imul(MULTIPLIER_0, w0);
    const high1 = highHalf(MULTIPLIER_1, w2);
    const low1 = Math.imul(MULTIPLIER_1, w2);
    w0 = (high1 ^ w1 ^ k0) >>> 0;
    w1 = low1 >>> 0;
    w2 = (high0 ^ w3 ^ k1) >>> 0;
    w3 = low0 >>> 0;
    k0 = (k0 + KEY_STEP_0) >>> 0;
    k1 = (k1 + KEY_STEP_1) >>> 0;
  }
  words[0] = w0;
  words[1] = w1;
  words[2] = w2;
  words[3] = w3;
}

/**
 * Uniform in [0, 1) with 53 bits.
 * @param seed an integer of at most 53 bits; its sign counts
 * @param counter an integer in [0, 2^53)
 */
export function drawUnit(seed: number, counter: number): number {
  const words = Uint32Array.of(counter >>> 0, Math.floor(counter / 4294967296), 0, 0);
  philox(words, seed >>> 0, Math.floor(seed / 4294967296));
  return ((words[0]! >>> 5) * 67108864 + (words[1]! >>> 6)) / 9007199254740992;
}

/** The upper 32 bits of the product of two unsigned words, by halves of 16 bits. */
function highHalf(a: number, b: number): number {
  const [aLow, aHigh, bLow, bHigh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const low = aLow * bLow;
  // At most (2^16 - 1)^2 + 2^16 - 1 < 2^32: exact, and its parts are taken unsigned.
  const middle = aHigh * bLow + (low >>> 16);
  const cross = aLow * bHigh + (middle & 0xffff);
  return aHigh * bHigh + (middle >>> 16) + (cross >>> 16);
}
