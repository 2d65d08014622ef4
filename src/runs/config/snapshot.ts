import {
  digestJson,
  fail,
  HoldfastError,
  isJsonObject,
  isSha256Hex,
  type JsonObject,
  type JsonValue,
  sha256Hex,
} from '../../core/index.ts';
import { fieldNames, memoryForm, ownJson, readFields, writeFields } from './fields.ts';
import type { FrozenRunConfig, MemorySettings, RunConfig, RunConfigSnapshot, SnapshotVersion } from './model.ts';
import { SNAPSHOT_VERSIONS } from './model.ts';
import { FROZEN_DEFAULTS } from './run-config.ts';
import { onceOf } from './stored-context.ts';

/** The member of a trace's context in which its snapshot lies. */
export const SNAPSHOT_KEY = 'run_config_snapshot';

/** What tells one memory from another: SHA-256 over its settings. */
export function memoryIdentity(memory: MemorySettings): string {
  return digestJson(ownJson(memoryForm.write(memory), 'memory'));
}

export interface SnapshotParts {
  readonly memoryIdentity: JsonValue;
  readonly systemPromptHash?: string | null;
  readonly legacyInferred?: boolean;
}

/** Freezes a configuration, in the oldest version that can say all of it. Throws `RUN_CONFIG_INVALID`. */
export function snapshotOf(config: RunConfig, parts: SnapshotParts): RunConfigSnapshot {
  const project = config.context['project_name'] ?? null;
  if (project !== null && typeof project !== 'string')
    throw fail('RUN_CONFIG_INVALID', 'The field context.project_name of a run configuration must be text.');
  const { traceId: _trace, systemPrompt: _prompt, context: _context, ...frozen } = config;
  return sealed({
    schemaVersion: versionFor(frozen),
    config: frozen,
    projectName: project,
    memoryIdentity: ownJson(parts.memoryIdentity, 'memory_identity'),
    systemPromptHash: parts.systemPromptHash ?? null,
    legacyInferred: parts.legacyInferred ?? false,
  });
}

function versionFor(config: FrozenRunConfig): SnapshotVersion {
  const spends = Object.values(config.budgets).some((bound) => bound !== null);
  return config.applicationRef !== null || spends ? 2 : 1;
}

function sealed(snapshot: Omit<RunConfigSnapshot, 'snapshotHash'>): RunConfigSnapshot {
  return Object.freeze({ ...snapshot, snapshotHash: digestJson(unsealedDocument(snapshot)) });
}

function unsealedDocument(snapshot: Omit<RunConfigSnapshot, 'snapshotHash'>): JsonObject {
  return {
    schema_version: snapshot.schemaVersion,
    ...writeFields(snapshot.config, snapshot.schemaVersion),
    project_name: snapshot.projectName,
    memory_identity: snapshot.memoryIdentity,
    system_prompt_hash: snapshot.systemPromptHash,
    legacy_inferred: snapshot.legacyInferred,
  };
}

/** The stored form of a snapshot, with the contracts' names. */
export function snapshotDocument(snapshot: RunConfigSnapshot): JsonObject {
  return { ...unsealedDocument(snapshot), snapshot_hash: snapshot.snapshotHash };
}

/** A context that holds the snapshot; the given one stays as it is. */
export function withSnapshot(context: JsonObject, snapshot: RunConfigSnapshot): JsonObject {
  return { ...context, [SNAPSHOT_KEY]: snapshotDocument(snapshot) };
}

/** Whether a context holds a snapshot, sound or not. */
export function hasSnapshot(context: JsonObject): boolean {
  return (context[SNAPSHOT_KEY] ?? null) !== null;
}

/**
 * The snapshot of a context, proven: its hash first, then its shape. Throws `RUN_SNAPSHOT_MISSING`,
 * `RUN_SNAPSHOT_CORRUPT` and, for a version this build does not know, `RUN_SNAPSHOT_NEWER`.
 */
export function loadSnapshot(context: JsonObject): RunConfigSnapshot {
  return onceOf(context, provenSnapshot);
}

function provenSnapshot(context: JsonObject): RunConfigSnapshot {
  if (!hasSnapshot(context)) throw fail('RUN_SNAPSHOT_MISSING', 'The run has no frozen configuration.');
  const stored = context[SNAPSHOT_KEY];
  if (!isJsonObject(stored)) throw corrupt('it is not an object');
  const { snapshot_hash: hash, ...rest } = stored;
  if (hash !== digestJson(rest)) throw corrupt('hash mismatch');
  const version = stored['schema_version'];
  if (!isVersion(version))
    throw fail('RUN_SNAPSHOT_NEWER', 'The frozen configuration has a version that is not known.');
  return readSnapshot(stored, version, hash);
}

function isVersion(value: JsonValue | undefined): value is SnapshotVersion {
  return SNAPSHOT_VERSIONS.some((version) => version === value);
}

const COMMON = ['schema_version', 'project_name', 'memory_identity', 'system_prompt_hash', 'legacy_inferred'];

function readSnapshot(stored: JsonObject, version: SnapshotVersion, snapshotHash: string): RunConfigSnapshot {
  const known = new Set([...COMMON, 'snapshot_hash', ...fieldNames(version)]);
  if (Object.keys(stored).some((key) => !known.has(key))) throw corrupt('it has an unknown field');
  const { project_name: project, system_prompt_hash: prompt, legacy_inferred: inferred } = stored;
  if (project !== null && typeof project !== 'string') throw corrupt('project_name');
  if (prompt !== null && !isSha256Hex(prompt)) throw corrupt('system_prompt_hash');
  if (typeof inferred !== 'boolean') throw corrupt('legacy_inferred');
  return Object.freeze({
    schemaVersion: version,
    config: storedFields(stored, version),
    projectName: project ?? null,
    memoryIdentity: stored['memory_identity'] ?? null,
    systemPromptHash: prompt ?? null,
    legacyInferred: inferred,
    snapshotHash,
  });
}

function storedFields(stored: JsonObject, version: SnapshotVersion): FrozenRunConfig {
  try {
    return readFields(stored, version, FROZEN_DEFAULTS);
  } catch (cause) {
    if (cause instanceof HoldfastError) throw corrupt(cause.message, cause);
    throw cause;
  }
}

function corrupt(what: string, cause?: unknown): Error {
  return fail('RUN_SNAPSHOT_CORRUPT', `The frozen configuration of the run cannot be trusted: ${what}.`, { cause });
}

/** The configuration with every frozen field as the snapshot has it. */
export function applySnapshot(config: RunConfig, snapshot: RunConfigSnapshot): RunConfig {
  return Object.freeze({ ...config, ...snapshot.config });
}

/**
 * Binds the system prompt, once: the same snapshot with the prompt's hash, and its own hash made again. A snapshot that
 * is bound already is given back where the prompt is the same. Throws `RUN_PROMPT_CHANGED`.
 */
export function bindSystemPrompt(snapshot: RunConfigSnapshot, prompt: string): RunConfigSnapshot {
  const systemPromptHash = sha256Hex(prompt);
  if (snapshot.systemPromptHash === systemPromptHash) return snapshot;
  if (snapshot.systemPromptHash !== null)
    throw fail('RUN_PROMPT_CHANGED', 'The run was started with another system prompt.');
  const { snapshotHash: _, ...unsealed } = snapshot;
  return sealed({ ...unsealed, systemPromptHash });
}
