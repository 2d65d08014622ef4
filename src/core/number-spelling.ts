const PLAIN_FROM = -4;
const PLAIN_BELOW = 16;

/**
 * A finite float in the shortest form that reads back to it, in the layout of the contracts: plain from 1e-4 up to
 * below 1e16, with `.0` when whole; else an exponent with its sign and at least two digits; a zero keeps its sign.
 */
export function spellFloat(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [mantissa = '', power = ''] = Math.abs(value).toExponential().split('e');
  const sign = value < 0 ? '-' : '';
  const exponent = Number(power);
  if (exponent < PLAIN_FROM || exponent >= PLAIN_BELOW) return `${sign}${mantissa}e${spellExponent(exponent)}`;
  return sign + spellPlain(mantissa.replace('.', ''), exponent);
}

function spellExponent(exponent: number): string {
  return (exponent < 0 ? '-' : '+') + String(Math.abs(exponent)).padStart(2, '0');
}

function spellPlain(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${whole}.${digits.slice(exponent + 1) || '0'}`;
}

/** A finite JS number: a safe integer as an integer (`-0` as `0`), any other as a float. */
export function spellNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : spellFloat(value);
}
