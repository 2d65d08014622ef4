const PLAIN_FROM = 1e-4;
const PLAIN_BELOW = 1e16;

/**
 * A finite float in the shortest form that reads back to it, in the layout of the contracts: plain from 1e-4 up to
 * below 1e16, with `.0` when whole; else an exponent with its sign and at least two digits; a zero keeps its sign.
 */
export function spellFloat(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  // JavaScript's own layout is the same here, but for the `.0` of a whole number.
  if (size >= PLAIN_FROM && size < PLAIN_BELOW) return Number.isInteger(value) ? `${value}.0` : String(value);
  const [mantissa = '', power = ''] = size.toExponential().split('e');
  return `${value < 0 ? '-' : ''}${mantissa}e${spellExponent(Number(power))}`;
}

function spellExponent(exponent: number): string {
  return (exponent < 0 ? '-' : '+') + String(Math.abs(exponent)).padStart(2, '0');
}

/** A finite JS number: a safe integer as an integer (`-0` as `0`), any other as a float. */
export function spellNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : spellFloat(value);
}
