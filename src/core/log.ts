import { canonicalJson } from './canonical-json.ts';
import { type Clock, systemClock } from './clock.ts';
import { HoldfastError } from './errors.ts';
import type { JsonObject, JsonValue } from './json-value.ts';
import { LIMITS } from './limits.ts';
import { redact } from './redact.ts';
import { REDACTED, redactText } from './secret-patterns.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Facts of one event: small JSON values, or an error. */
export type LogFields = Readonly<Record<string, JsonValue | Error | undefined>>;

/** A log of JSON lines, for machines first. It never throws and never carries a secret that it can recognise. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export interface LogOptions {
  /** Takes one line, without the line feed. */
  readonly write: (line: string) => void;
  readonly clock?: Clock;
  /** The lowest level that is written; `info` unless told. */
  readonly level?: LogLevel;
  /** Further field names whose values never appear. */
  readonly secretFields?: readonly string[];
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const LOG_SECRET_FIELDS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'set_cookie',
  'token',
  'refresh_token',
];

/**
 * Makes a log. Each line is an object with `time` (ISO 8601, UTC), `level`, `event` and the fields, in canonical order.
 * Secrets are replaced by name and by pattern; an error becomes its code and message, without stack, cause or path; a
 * line beyond 16 KiB keeps only `time`, `level`, `event` and says `cut`.
 */
export function createLog(options: LogOptions): Log {
  const from = LEVELS.indexOf(options.level ?? 'info');
  const clock = options.clock ?? systemClock;
  const secretFields = [...LOG_SECRET_FIELDS, ...(options.secretFields ?? [])];
  const at =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}): void => {
      if (LEVELS.indexOf(level) < from) return;
      const head = { time: new Date(clock.nowMs()).toISOString(), level, event: eventName(event) };
      options.write(line(head, fields, secretFields));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function eventName(event: string): string {
  return redactText(event).slice(0, LIMITS.logEventCodePoints).toWellFormed();
}

/** Nothing is written. */
export const noLog: Log = createLog({ write: () => undefined, level: 'error' });

interface LineHead {
  readonly time: string;
  readonly level: LogLevel;
  readonly event: string;
}

function line(head: LineHead, fields: LogFields, secretFields: readonly string[]): string {
  try {
    const text = canonicalJson({ ...(redact(jsonFields(fields), { secretFields }) as JsonObject), ...head });
    return Buffer.byteLength(text) <= LIMITS.logLineBytes ? text : cutLine(head);
  } catch {
    return cutLine(head);
  }
}

// What is left of a line that is too long or holds something that is not JSON.
function cutLine(head: LineHead): string {
  return JSON.stringify({ cut: true, ...head });
}

function jsonFields(fields: LogFields): JsonObject {
  const object: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) object[key] = value instanceof Error ? errorField(value) : value;
  }
  return object;
}

// The message of a foreign error may name a path of the host, so only errors of ours tell theirs.
function errorField(error: Error): JsonObject {
  if (error instanceof HoldfastError) return { code: error.code, message: redactText(error.message) };
  const errno = 'code' in error && typeof error.code === 'string' ? error.code : null;
  return { name: error.name, errno, message: REDACTED };
}
