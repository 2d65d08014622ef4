/**
 * Whether the whole text matches a pattern in which `*` stands for anything but `/` and `**` for anything. Every other
 * character stands for itself. Time grows with the product of the two lengths and never faster, whatever the pattern.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const parts = pattern.match(/\*\*|\*|[^*]/gsu) ?? [];
  const units = Array.from(text);
  // reached[i]: the parts so far match the first i units.
  let reached = new Uint8Array(units.length + 1);
  reached[0] = 1;
  for (const part of parts) {
    reached = part.startsWith('*') ? spread(reached, units, part === '**') : advance(reached, units, part);
    if (!reached.includes(1)) return false;
  }
  return reached[units.length] === 1;
}

function spread(reached: Uint8Array, units: readonly string[], overSlash: boolean): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(units.length + 1);
  for (let i = 0; i <= units.length; i += 1) {
    const carried = i > 0 && next[i - 1] === 1 && (overSlash || units[i - 1] !== '/');
    next[i] = reached[i] === 1 || carried ? 1 : 0;
  }
  return next;
}

function advance(reached: Uint8Array, units: readonly string[], unit: string): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(units.length + 1);
  for (let i = 0; i < units.length; i += 1) next[i + 1] = reached[i] === 1 && units[i] === unit ? 1 : 0;
  return next;
}

export const isExactName = (pattern: string): boolean => !pattern.includes('*');
