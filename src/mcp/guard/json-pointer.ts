import { isJsonObject, type JsonValue } from '../../core/index.ts';
import { hasLikeName } from '../wire/like-names.ts';

const SEGMENT = /^(?:\/(?:[^~/]|~[01])*)*$/;

/** Whether a text is a JSON pointer (RFC 6901); the empty one, which names the whole, is not taken here. */
export function isPointer(text: string): boolean {
  return text !== '' && SEGMENT.test(text);
}

/** One name as a segment of a pointer. */
export function pointerSegment(name: PropertyKey): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * The values that a pointer names. A whole segment `*` stands for every item of a list or every member of an object.
 * Undefined when some of the way is missing: an empty list under `*` is no value, and so is missing too.
 */
export function valuesAt(root: JsonValue, pointer: string): readonly JsonValue[] | undefined {
  let found: readonly JsonValue[] = [root];
  for (const raw of pointer.slice(1).split('/')) {
    const segment = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    const next: JsonValue[] = [];
    for (const value of found) {
      const below = raw === '*' ? childrenOf(value) : childOf(value, segment);
      if (below === undefined || below.length === 0) return undefined;
      next.push(...below);
    }
    found = next;
  }
  return found;
}

function childrenOf(value: JsonValue): readonly JsonValue[] | undefined {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : undefined;
}

function childOf(value: JsonValue, segment: string): readonly JsonValue[] | undefined {
  if (Array.isArray(value)) {
    const item = /^(0|[1-9]\d{0,9})$/.test(segment) ? value[Number(segment)] : undefined;
    return item === undefined ? undefined : [item];
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, segment)) return undefined;
  return [value[segment] as JsonValue];
}

/**
 * Whether some server reads another value there than `valuesAt` gives: one that takes the names of members whatever
 * their case, as many do, finds a second member, or one where there seems to be none.
 */
export function isReadTwice(root: JsonValue, pointer: string): boolean {
  let found: readonly JsonValue[] = [root];
  for (const raw of pointer.slice(1).split('/')) {
    const segment = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (raw !== '*' && found.some((value) => isJsonObject(value) && hasLikeName(value, segment))) return true;
    found = found.flatMap((value) => (raw === '*' ? childrenOf(value) : childOf(value, segment)) ?? []);
  }
  return false;
}
