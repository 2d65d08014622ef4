import type { JsonObject } from '../../core/index.ts';

/**
 * Whether an object has another member whose name is this one but for its case, look-alikes of letters included: whoever
 * takes names whatever their case, as the readers of some languages do, may read that one.
 */
export function hasLikeName(value: JsonObject, name: string): boolean {
  const wanted = folded(name);
  return Object.keys(value).some((key) => key !== name && folded(key) === wanted);
}

/** Through the upper case: the long s and the sign for kelvin are an s and a k to whoever ignores case. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();
