import { canonicalJson, digestJson, type JsonValue, sha256Hex } from '../core/index.ts';

/** Texts, whole numbers and nothing else, in objects whose keys stand in code point order as they were written. */
export type SortedJson = string | number | null | readonly SortedJson[] | { readonly [key: string]: SortedJson };

// How the built-in writer spells half of a surrogate pair, which canonical JSON refuses; an escaped backslash before
// `ud` looks the same and only costs the slower way.
const SUSPECT = '\\ud';

/**
 * The canonical text of a document whose keys are in order already. The built-in writer gives the same text several
 * times faster; what it would spell otherwise goes the general way, and is refused there.
 */
export function sortedText(value: SortedJson): string {
  const text = JSON.stringify(value);
  return text.includes(SUSPECT) ? canonicalJson(value as JsonValue) : text;
}

/** SHA-256 over the canonical text of such a document. */
export function digestSorted(value: SortedJson): string {
  const text = JSON.stringify(value);
  return text.includes(SUSPECT) ? digestJson(value as JsonValue) : sha256Hex(text);
}
