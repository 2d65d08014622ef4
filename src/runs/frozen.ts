import { canonicalJson, fail, isJsonObject, type JsonObject, plainJson, sha256Hex } from '../core/index.ts';
import type { ModelSettings } from '../models/index.ts';
import type { Agent } from './context.ts';
import { runConfig } from './config/run-config.ts';
import type { FrozenRunConfig, RunConfigSnapshot } from './config/model.ts';
import { PROMPT_KEY } from './config/resume.ts';
import { loadSnapshot, snapshotDocument, snapshotOf, withSnapshot } from './config/snapshot.ts';
import { onceOf } from './config/stored-context.ts';
import type { RunRecord } from './model.ts';

/** Each agent's newest snapshot, with the text of everything that it was made from. */
const snapshots = new WeakMap<Agent, { readonly madeFrom: string; readonly snapshot: RunConfigSnapshot }>();

/**
 * The agent as it is defined now, frozen: for a run that begins, or that goes on under another definition. It is made
 * anew only where the agent says something else than when it was made: nothing but `madeFrom` goes into it.
 */
function snapshotOfAgent(agent: Agent): RunConfigSnapshot {
  const parts = partsOf(agent);
  const madeFrom = JSON.stringify(parts, spelledOut);
  const known = snapshots.get(agent);
  if (known?.madeFrom === madeFrom) return known.snapshot;
  const snapshot = snapshotOfParts(parts);
  snapshots.set(agent, { madeFrom, snapshot });
  return snapshot;
}

/** `JSON.stringify` would write all of these as another number. */
const spelledOut = (_: string, value: unknown): unknown =>
  typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))
    ? `number ${1 / value} ${value}`
    : value;

/** What of an agent is frozen. */
function partsOf(agent: Agent) {
  const { temperature = null, topP, maxOutputTokens, seed, providerOptions } = agent.settings ?? {};
  const extra = { top_p: topP, max_output_tokens: maxOutputTokens, seed, provider_options: providerOptions };
  const config = {
    model: agent.model.id,
    temperature,
    maxIterations: agent.maxTurns,
    tools: [...agent.allowed].toSorted(),
    autoExecuteTools: !agent.askForEach,
    agentType: agent.name,
    parallelToolExecution: true,
    childExecutionMode: agent.childMode,
    maxParallelChildren: agent.maxParallelChildren,
    sideBranchMaxTurns: agent.sideBranchMaxTurns,
    budgets: agent.budgets,
  } as const;
  return { config, extraText: JSON.stringify(extra), instructions: agent.instructions };
}

function snapshotOfParts({ config, extraText, instructions }: ReturnType<typeof partsOf>): RunConfigSnapshot {
  const systemPromptHash = instructions === null ? null : sha256Hex(instructions);
  // Settings that are not given have no place in the document.
  const extraLlmParams = JSON.parse(extraText) as JsonObject;
  return snapshotOf(runConfig({ ...config, extraLlmParams }), { memoryIdentity: null, systemPromptHash });
}

/** A run's context with the agent frozen in it: its snapshot, and the instructions that the snapshot has the hash of. */
export function freezeAgent(agent: Agent, context: JsonObject): JsonObject {
  const { [PROMPT_KEY]: _, ...own } = context;
  const prompt = agent.instructions === null ? {} : { [PROMPT_KEY]: agent.instructions };
  return withSnapshot({ ...own, ...prompt }, snapshotOfAgent(agent));
}

/** A run's agent as the run began with it. */
export interface Thawed {
  readonly agent: Agent;
  /** The fields, by their stored names, in which the agent is defined otherwise now. */
  readonly changed: readonly string[];
}

/**
 * The agent under which a stored run goes on: its frozen configuration, carried out by the agent of that name as it is
 * defined here. A tool that the agent has lost is lost to the run; one that it has gained is not the run's. Throws
 * RUN_SNAPSHOT_MISSING, RUN_SNAPSHOT_CORRUPT, RUN_SNAPSHOT_NEWER, and RUN_CONFIG_CHANGED where the model is another.
 */
export function thawAgent(run: Pick<RunRecord, 'context'>, now: Agent): Thawed {
  const snapshot = loadSnapshot(run.context);
  const instructions = onceOf(run.context, frozenPrompt);
  const changed = differences(snapshot, snapshotOfAgent(now));
  if (changed.includes('model'))
    throw fail('RUN_CONFIG_CHANGED', 'The run began with another model than its agent has now.', {
      details: { fields: changed.join(' ') },
    });
  return { agent: { ...now, ...frozenFields(snapshot.config, now), instructions }, changed };
}

function frozenFields(frozen: FrozenRunConfig, now: Agent): Partial<Agent> {
  return {
    allowed: new Set(frozen.tools.filter((name) => now.allowed.has(name))),
    settings: frozenSettings(frozen),
    maxTurns: frozen.maxIterations,
    askForEach: !frozen.autoExecuteTools || now.askForEach,
    budgets: frozen.budgets,
    childMode: frozen.childExecutionMode,
    maxParallelChildren: frozen.maxParallelChildren,
    sideBranchMaxTurns: frozen.sideBranchMaxTurns,
  };
}

function frozenSettings({ temperature, extraLlmParams }: FrozenRunConfig): ModelSettings {
  const extra = plainJson(extraLlmParams) as Record<string, unknown>;
  const settings = {
    temperature: temperature === null ? undefined : temperature,
    topP: extra['top_p'],
    maxOutputTokens: extra['max_output_tokens'],
    seed: extra['seed'],
    providerOptions: extra['provider_options'],
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as ModelSettings;
}

function frozenPrompt(context: JsonObject): string | null {
  const { systemPromptHash } = loadSnapshot(context);
  const prompt = context[PROMPT_KEY];
  const hash = typeof prompt === 'string' ? sha256Hex(prompt) : null;
  if (hash !== systemPromptHash || (prompt !== undefined && typeof prompt !== 'string'))
    throw fail('RUN_SNAPSHOT_CORRUPT', 'The stored instructions of the run are not those it was frozen with.');
  return prompt ?? null;
}

const NOT_COMPARED: ReadonlySet<string> = new Set(['schema_version', 'snapshot_hash']);

function differences(then: RunConfigSnapshot, now: RunConfigSnapshot): string[] {
  // The hash is taken over all of the document, and a stored one was proven: equal hashes, equal fields.
  if (then.snapshotHash === now.snapshotHash) return [];
  const [before, after] = [snapshotDocument(then), snapshotDocument(now)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names.filter((name) => !NOT_COMPARED.has(name) && textOf(before, name) !== textOf(after, name));
}

/** A version without budgets says that there are none. */
function textOf(document: JsonObject, name: string): string {
  const value = document[name] ?? null;
  const unset = isJsonObject(value) && Object.values(value).every((one) => one === null);
  return unset ? 'null' : canonicalJson(value);
}
