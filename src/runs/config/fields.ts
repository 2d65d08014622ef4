import {
  asJsonValue,
  canonicalJson,
  codePointsWithin,
  fail,
  isBlank,
  isJsonObject,
  JSON_PROFILES,
  JsonNumber,
  type JsonObject,
  type JsonProfile,
  type JsonValue,
  LIMITS,
  readStrictJson,
} from '../../core/index.ts';
import type { FrozenRunConfig, MemorySettings, RunBudgets } from './model.ts';

/** How one field stands in a document. `read` refuses with `RUN_CONFIG_INVALID`, naming the field. */
export interface FieldForm<T> {
  read(value: JsonValue | undefined, name: string): T;
  write(value: T): JsonValue;
}

export function wrongField(name: string, rule: string): Error {
  return fail('RUN_CONFIG_INVALID', `The field ${name} of a run configuration ${rule}.`, { details: { field: name } });
}

function own<T extends JsonValue>(test: (value: JsonValue | undefined) => value is T, rule: string): FieldForm<T> {
  return {
    read: (value, name) => {
      if (test(value)) return value;
      throw wrongField(name, rule);
    },
    write: (value) => value,
  };
}

const isName = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' &&
  codePointsWithin(value, LIMITS.runNameCodePoints) &&
  !isBlank(value) &&
  !value.includes('\0') &&
  value.isWellFormed();

const name = own<string>(isName, 'must be a name');
const boolean = own<boolean>((value) => typeof value === 'boolean', 'must be true or false');
const object = own<JsonObject>(isJsonObject, 'must be an object');
const childMode = own<'sequential' | 'parallel'>(
  (value) => value === 'sequential' || value === 'parallel',
  "must be 'sequential' or 'parallel'",
);

function wholeNumber(from: number, to: number): FieldForm<number> {
  const fits = (value: JsonValue | undefined): value is number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= from && value <= to;
  return own(fits, `must be a whole number from ${from} to ${to}`);
}

const number: FieldForm<number> = {
  read(value, field) {
    const plain = value instanceof JsonNumber ? value.value : value;
    if (typeof plain === 'number' && plain >= 0 && plain <= 100) return plain;
    throw wrongField(field, 'must be a number from 0 to 100');
  },
  write: (value) => value,
};

export function orNull<T>(form: FieldForm<T>): FieldForm<T | null> {
  return {
    read: (value, field) => (value === null ? null : form.read(value, field)),
    write: (value) => (value === null ? null : form.write(value)),
  };
}

const names: FieldForm<readonly string[]> = {
  read(value, field) {
    if (!Array.isArray(value) || value.length > LIMITS.runNames || !value.every(isName))
      throw wrongField(field, `must be a list of at most ${LIMITS.runNames} names`);
    return [...value];
  },
  write: (value) => [...value],
};

const text = own<string>(
  (value): value is string =>
    typeof value === 'string' && codePointsWithin(value, LIMITS.runPromptCodePoints) && value.isWellFormed(),
  'must be text',
);

/** The members of an object, none missing and none added. */
function members(value: JsonValue | undefined, keys: readonly string[], field: string): JsonObject {
  if (!isJsonObject(value)) throw wrongField(field, 'must be an object');
  const odd = Object.keys(value).find((key) => !keys.includes(key)) ?? keys.find((key) => !Object.hasOwn(value, key));
  if (odd !== undefined) throw wrongField(`${field}.${odd.slice(0, 64)}`, 'is unknown or missing');
  return value;
}

export const memoryForm: FieldForm<MemorySettings> = {
  read(value, field) {
    const from = members(value, ['base_path', 'files', 'dream_prompt', 'reflect_prompt'], field);
    const files = object.read(from['files'], `${field}.files`);
    for (const [key, use] of Object.entries(files)) text.read(use, `${field}.files.${key.slice(0, 64)}`);
    return {
      basePath: text.read(from['base_path'], `${field}.base_path`),
      files: files as Record<string, string>,
      dreamPrompt: text.read(from['dream_prompt'], `${field}.dream_prompt`),
      reflectPrompt: text.read(from['reflect_prompt'], `${field}.reflect_prompt`),
    };
  },
  write: (memory) => ({
    base_path: memory.basePath,
    files: { ...memory.files },
    dream_prompt: memory.dreamPrompt,
    reflect_prompt: memory.reflectPrompt,
  }),
};

const amount = orNull(wholeNumber(1, Number.MAX_SAFE_INTEGER));

const budgets: FieldForm<RunBudgets> = {
  read(value, field) {
    const from = members(value, ['max_tokens', 'max_cost_micros', 'max_wall_ms'], field);
    return {
      maxTokens: amount.read(from['max_tokens'], `${field}.max_tokens`),
      maxCostMicros: amount.read(from['max_cost_micros'], `${field}.max_cost_micros`),
      maxWallMs: amount.read(from['max_wall_ms'], `${field}.max_wall_ms`),
    };
  },
  write: (value) => ({
    max_tokens: value.maxTokens,
    max_cost_micros: value.maxCostMicros,
    max_wall_ms: value.maxWallMs,
  }),
};

/** One field of the frozen part: its name in memory, in documents, and its form. */
interface Field {
  readonly key: keyof FrozenRunConfig;
  readonly name: string;
  readonly form: FieldForm<unknown>;
}

function field<K extends keyof FrozenRunConfig>(key: K, form: FieldForm<FrozenRunConfig[K]>): Field {
  const snake = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { key, name: snake, form: form as FieldForm<unknown> };
}

/** The fields of version 1, for ever. */
const FIELDS_1: readonly Field[] = [
  field('model', name),
  field('temperature', orNull(number)),
  field('maxIterations', wholeNumber(1, LIMITS.runIterations)),
  field('tools', names),
  field('toolGroups', names),
  field('excludeTools', names),
  field('autoExecuteTools', boolean),
  field('agentType', name),
  field('uid', orNull(name)),
  field('skills', names),
  field('enableMemory', boolean),
  field('memory', orNull(memoryForm)),
  field('knowledge', object),
  field('parallelToolExecution', boolean),
  field('childExecutionMode', childMode),
  field('maxParallelChildren', wholeNumber(1, LIMITS.runParallelChildren)),
  field('sideBranchMaxTurns', wholeNumber(1, LIMITS.runSideBranchTurns)),
  field('goalCompression', name),
  field('enablePromptCaching', boolean),
  field('enableResearchFlow', boolean),
  field('extraLlmParams', object),
];

/** Version 2 says which program made the run, and what it may spend. */
const FIELDS_2: readonly Field[] = [...FIELDS_1, field('applicationRef', orNull(name)), field('budgets', budgets)];

export const FIELDS = { 1: FIELDS_1, 2: FIELDS_2 } as const;

/** The names of a version's fields in documents. */
export function fieldNames(version: keyof typeof FIELDS): readonly string[] {
  return FIELDS[version].map((one) => one.name);
}

export function writeFields(config: FrozenRunConfig, version: keyof typeof FIELDS): JsonObject {
  const entries = FIELDS[version].map((one): [string, JsonValue] => [one.name, one.form.write(config[one.key])]);
  return Object.fromEntries(entries);
}

/** Reads the fields of a version; those that it does not have come from `rest`. */
export function readFields(from: JsonObject, version: keyof typeof FIELDS, rest: FrozenRunConfig): FrozenRunConfig {
  const entries = FIELDS[version].map((one): [string, unknown] => [one.key, one.form.read(from[one.name], one.name)]);
  return { ...rest, ...(Object.fromEntries(entries) as Partial<FrozenRunConfig>) };
}

/** A configuration carries a system prompt's worth of texts; numbers keep their spelling. */
const CONFIG_PROFILE: JsonProfile = {
  ...JSON_PROFILES.packages,
  name: 'run configuration',
  bytes: LIMITS.traceMetaBytes,
  values: LIMITS.configJsonValues,
};

/** A copy of a JSON value that a user's code made, within the bounds of configurations. */
export function ownJson(value: unknown, name: string): JsonValue {
  try {
    return readStrictJson(canonicalJson(asJsonValue(value, CONFIG_PROFILE)), CONFIG_PROFILE);
  } catch (cause) {
    throw fail('RUN_CONFIG_INVALID', `The field ${name} of a run configuration is not JSON within its bounds.`, {
      cause,
      details: { field: name },
    });
  }
}
