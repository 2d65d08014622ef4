import {
  fail,
  freezeJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readCanonicalJson,
} from '../../core/index.ts';

/** So many contexts are kept, each at most so long: runs of one agent mostly have the same one. */
const KEPT = 64;
const KEPT_CODE_UNITS = 16_384;

/** By their whole stored text; the one that was longest not asked for comes first. */
const kept = new Map<string, JsonObject>();

/**
 * The context that a run's row holds; frozen, since runs share it. A text that was read before is not read again: what
 * reading comes to, the refusals included, depends on nothing but the text, and a refused one is not kept. Throws
 * JSON_NOT_CANONICAL, RUN_RECORD_BROKEN.
 */
export function storedContext(text: string): JsonObject {
  const known = kept.get(text);
  if (known !== undefined) {
    kept.delete(text);
    kept.set(text, known);
    return known;
  }
  const context = readCanonicalJson(text, JSON_PROFILES.packages);
  if (!isJsonObject(context)) throw fail('RUN_RECORD_BROKEN', 'The stored context of a run is not an object.');
  freezeJson(context);
  if (text.length <= KEPT_CODE_UNITS) keep(text, context);
  return context;
}

function keep(text: string, context: JsonObject): void {
  const [oldest] = kept.size >= KEPT ? kept.keys() : [];
  if (oldest !== undefined) kept.delete(oldest);
  kept.set(text, context);
  unchanging.set(context, new Map());
}

/** What was worked out from a kept context, by who worked it out; it goes with the context. */
const unchanging = new WeakMap<JsonObject, Map<(context: JsonObject) => unknown, unknown>>();

/**
 * What a function says of a context, which must depend on nothing else and be made of objects and lists. Of one that
 * `storedContext` keeps it is worked out once: both are frozen through and through. Any other may have been changed since, and is looked at each time.
 */
export function onceOf<T>(context: JsonObject, work: (context: JsonObject) => T): T {
  const known = unchanging.get(context);
  if (known === undefined) return work(context);
  if (known.has(work)) return known.get(work) as T;
  const worked = work(context);
  known.set(work, freezeJson(worked as JsonValue));
  return worked;
}
