import { canonicalJson, fail, isJsonObject, type JsonObject, plainJson, sha256Hex } from '../core/index.ts';
import type { ModelSettings } from '../models/index.ts';
import type { Agent } from './context.ts';
import { runConfig } from './config/run-config.ts';
import type { FrozenRunConfig, RunConfigSnapshot } from './config/model.ts';
import { PROMPT_KEY } from './config/resume.ts';
import { loadSnapshot, snapshotDocument, snapshotOf, withSnapshot } from './config/snapshot.ts';
import type { RunRecord } from './model.ts';

/** The agent as it is defined now, frozen: for a run that begins, or that goes on under another definition. */
function snapshotOfAgent(agent: Agent): RunConfigSnapshot {
  const { temperature = null, topP, maxOutputTokens, seed, providerOptions } = agent.settings ?? {};
  const extra = { top_p: topP, max_output_tokens: maxOutputTokens, seed, provider_options: providerOptions };
  const config = runConfig({
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
    // Settings that are not given have no place in the document.
    extraLlmParams: JSON.parse(JSON.stringify(extra)) as JsonObject,
    budgets: agent.budgets,
  });
  const systemPromptHash = agent.instructions === null ? null : sha256Hex(agent.instructions);
  return snapshotOf(config, { memoryIdentity: null, systemPromptHash });
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
  const instructions = frozenPrompt(run.context, snapshot);
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

function frozenPrompt(context: JsonObject, { systemPromptHash }: RunConfigSnapshot): string | null {
  const prompt = context[PROMPT_KEY];
  const hash = typeof prompt === 'string' ? sha256Hex(prompt) : null;
  if (hash !== systemPromptHash || (prompt !== undefined && typeof prompt !== 'string'))
    throw fail('RUN_SNAPSHOT_CORRUPT', 'The stored instructions of the run are not those it was frozen with.');
  return prompt ?? null;
}

const NOT_COMPARED: ReadonlySet<string> = new Set(['schema_version', 'snapshot_hash']);

function differences(then: RunConfigSnapshot, now: RunConfigSnapshot): string[] {
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
