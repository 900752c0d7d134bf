/** The nearest half-precision number, ties to even, by trying both neighbours. */

/** @returns the 16 bits; overflow becomes infinity */
export function halfOf(number: number): number {
  const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0;
  const size = Math.abs(number);
  if (Number.isNaN(number)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  // Halves of one sign are ordered as their bits are.
  let low = 0;
  let high = 0x7c00;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (valueOf(middle) <= size) low = middle;
    else high = middle;
  }
  const below = size - valueOf(low);
  const above = (high === 0x7c00 ? 65536 : valueOf(high)) - size;
  const nearest = below < above || (below === above && low % 2 === 0) ? low : high;
  return sign | nearest;
}

function valueOf(bits: number): number {
  const exponent = bits >> 10;
  const fraction = bits & 1023;
  return exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
}
