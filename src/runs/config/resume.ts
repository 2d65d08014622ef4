import { fail, type JsonValue } from '../../core/index.ts';
import type { GoalTree, Trace } from '../trace/model.ts';
import type { TraceStore } from '../trace/port.ts';
import type { RunConfig, RunConfigSnapshot } from './model.ts';
import { runConfig } from './run-config.ts';
import {
  applySnapshot,
  bindSystemPrompt,
  hasSnapshot,
  loadSnapshot,
  memoryIdentity,
  snapshotOf,
  withSnapshot,
} from './snapshot.ts';

/** The one revision older than snapshots that may still be resumed. */
const LEGACY = { mode: 'legacy', revision: 1 } as const;

/**
 * The frozen configuration of a stored run. A run older than snapshots gets one inferred from its trace, once: it is
 * stored before it is used, and later resumes load it. Throws `RUN_READ_ONLY` for revisions that may only be read,
 * `RUN_SNAPSHOT_MISSING`, `RUN_SNAPSHOT_CORRUPT`.
 */
export async function snapshotForResume(traces: TraceStore, traceId: string): Promise<RunConfigSnapshot> {
  const trace = await traces.updateTrace(traceId, (now) =>
    hasSnapshot(now.context) ? null : { context: withSnapshot(now.context, inferredSnapshot(now)) },
  );
  return loadSnapshot(trace.context);
}

/**
 * Gives a run that has neither a snapshot nor a revision the configuration it is taken up with, so that later steps
 * have one. Throws as `snapshotForResume` for a run that names a revision.
 */
export async function ownSnapshot(traces: TraceStore, traceId: string, config: RunConfig): Promise<void> {
  const identity = config.memory === null ? null : memoryIdentity(config.memory);
  await traces.updateTrace(traceId, (now) => {
    if (hasSnapshot(now.context)) return null;
    const named = now.context['agent_mode'] !== undefined;
    const snapshot = named
      ? inferredSnapshot(now)
      : snapshotOf(config, { memoryIdentity: identity, legacyInferred: true });
    return { context: withSnapshot(now.context, snapshot) };
  });
}

function inferredSnapshot(trace: Trace): RunConfigSnapshot {
  requireLegacy(trace.context['agent_mode'], trace.context['agent_mode_revision']);
  const project = trace.context['project_name'];
  const config = runConfig({
    uid: trace.uid,
    ...(trace.model === null ? {} : { model: trace.model }),
    ...(project === undefined ? {} : { context: { project_name: project } }),
  });
  return snapshotOf(config, { memoryIdentity: null, legacyInferred: true });
}

function requireLegacy(mode: JsonValue | undefined, revision: JsonValue | undefined): void {
  if (mode === LEGACY.mode && revision === LEGACY.revision) return;
  if (mode === undefined || mode === null)
    throw fail('RUN_SNAPSHOT_MISSING', 'The run has no frozen configuration and names no revision.');
  const named = typeof mode === 'string' && /^[a-z_]{1,32}$/.test(mode) ? mode : 'unknown';
  const numbered = typeof revision === 'number' ? revision : 'unknown';
  throw fail('RUN_READ_ONLY', `${named}_revision_${numbered}_read_only: this run may be read, not resumed.`);
}

export interface PreparedTrace {
  readonly trace: Trace;
  readonly goalTree: GoalTree | null;
  /** Above the highest stored sequence. */
  readonly nextSequence: number;
  /** What was given, with every frozen field as the run began with it. */
  readonly config: RunConfig;
}

/** Makes a stored run ready to go on: `config.traceId` names it. Throws as `snapshotForResume`, and `TRACE_NOT_FOUND`. */
export async function prepareTrace(traces: TraceStore, config: RunConfig): Promise<PreparedTrace> {
  const traceId = config.traceId ?? '';
  const snapshot = await snapshotForResume(traces, traceId);
  await traces.reconcileTraceIntegrity(traceId);
  const trace = await traces.getTrace(traceId);
  if (trace === null) throw fail('TRACE_NOT_FOUND', 'There is no such trace.');
  const goalTree = await traces.getGoalTree(traceId);
  const nextSequence = Math.max(trace.lastSequence, trace.headSequence) + 1;
  return { trace, goalTree, nextSequence, config: applySnapshot(config, snapshot) };
}

/** The member of a trace's context in which the bound prompt lies, so that whoever resumes the run has it. */
export const PROMPT_KEY = 'system_prompt';

/**
 * Binds the system prompt to the run, the first time it builds its history, and answers the prompt that counts: a
 * caller that gives none gets the bound one. Throws `RUN_PROMPT_CHANGED`, `RUN_SNAPSHOT_CORRUPT`.
 */
export async function bindPrompt(traces: TraceStore, traceId: string, given: string | null): Promise<string> {
  const trace = await traces.updateTrace(traceId, (now) => {
    const snapshot = loadSnapshot(now.context);
    const prompt = given ?? storedPrompt(now);
    const bound = bindSystemPrompt(snapshot, prompt);
    if (bound === snapshot) return null;
    const context = prompt === '' ? now.context : { ...now.context, [PROMPT_KEY]: prompt };
    return { context: withSnapshot(context, bound) };
  });
  return given ?? storedPrompt(trace);
}

function storedPrompt(trace: Trace): string {
  const prompt = trace.context[PROMPT_KEY];
  return typeof prompt === 'string' ? prompt : '';
}
