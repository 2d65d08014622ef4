import { isJsonObject, type JsonObject, type JsonValue, setMember } from './json-value.ts';
import { LIMITS } from './limits.ts';
import { REDACTED, redactText } from './secret-patterns.ts';

/** What stands where a value lies too deep to be looked into. */
export const TOO_DEEP = '[TOO DEEP]';

const SECRET_KEY =
  /(?:api[_-]?key|access[_-]?token|auth[_-]?token|password|passwd|secret|credential|private[_-]?key)$/i;

/** The last two letters of those names: most keys end otherwise, which is quickly seen. */
function mayEndSecretKey(key: string): boolean {
  const end = key.length;
  const last = key.charCodeAt(end - 1) | 0x20;
  return ENDINGS.has((key.charCodeAt(end - 2) | 0x20) * 256 + last);
}

const ENDINGS: ReadonlySet<number> = new Set(
  ['ey', 'en', 'rd', 'wd', 'et', 'al'].map((two) => two.charCodeAt(0) * 256 + two.charCodeAt(1)),
);

/** Whether a key of structured data ends in one of the names whose value is a secret whatever it is. */
export function isSecretKey(key: string): boolean {
  return mayEndSecretKey(key) && SECRET_KEY.test(key);
}

/** Names of fields are compared in lower case, with `-` as `_`. */
export function comparableName(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}

export interface RedactOptions {
  /** Further keys whose values are replaced whole, in any case and with `-` as `_`: a tool's `secretFields`. */
  readonly secretFields?: readonly string[];
  /** What lies deeper is replaced by `[TOO DEEP]`; 48 unless told. */
  readonly maxDepth?: number;
}

/**
 * A copy of a JSON value without secrets: values under secret keys are replaced whole, every other text is searched for
 * the secret patterns. Redacting twice changes nothing more. Keys themselves are searched too.
 */
export function redact(value: JsonValue, options: RedactOptions = {}): JsonValue {
  const fields = new Set((options.secretFields ?? []).map(comparableName));
  const maxDepth = options.maxDepth ?? LIMITS.redactionDepth;
  const isSecret = (key: string): boolean => isSecretKey(key) || (fields.size > 0 && fields.has(comparableName(key)));
  return redactAt(value, { isSecret, maxDepth }, 0);
}

interface Rules {
  readonly isSecret: (key: string) => boolean;
  readonly maxDepth: number;
}

function redactAt(value: JsonValue, rules: Rules, depth: number): JsonValue {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value) && !isJsonObject(value)) return value;
  if (depth > rules.maxDepth) return TOO_DEEP;
  if (Array.isArray(value)) return value.map((item) => redactAt(item, rules, depth + 1));
  return redactMembers(value, rules, depth);
}

function redactMembers(object: JsonObject, rules: Rules, depth: number): JsonObject {
  const copy: JsonObject = {};
  for (const key of Object.keys(object)) {
    const value = rules.isSecret(key) ? REDACTED : redactAt(object[key] as JsonValue, rules, depth + 1);
    setMember(copy, redactText(key), value);
  }
  return copy;
}
