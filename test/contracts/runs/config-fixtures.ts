import { memoryIdentity, type MemorySettings, type RunConfig, runConfig } from '../../../src/runs/index.ts';

/** Switches off every extra model call of a host that interprets them. */
export const QUIET = { enable_extraction: false, enable_completion_extraction: false, enable_injection: false };

/** F1 of the contracts: the frozen fixture of version 1. It never changes. */
export function fixtureOne(): RunConfig {
  return runConfig({
    model: 'v1-fixture',
    temperature: 0.25,
    maxIterations: 3,
    tools: [],
    toolGroups: [],
    excludeTools: [],
    autoExecuteTools: true,
    agentType: 'default',
    uid: 'fixture',
    skills: [],
    enableMemory: false,
    knowledge: QUIET,
    parallelToolExecution: false,
    childExecutionMode: 'sequential',
    maxParallelChildren: 1,
    sideBranchMaxTurns: 2,
    goalCompression: 'none',
    enablePromptCaching: true,
    enableResearchFlow: false,
    extraLlmParams: {},
    context: {},
  });
}

export const MEMORY: MemorySettings = {
  basePath: 'memory',
  files: { 'identity.md': 'identity', 'journals/**': 'journal' },
  dreamPrompt: 'dream',
  reflectPrompt: 'reflect',
};

export const MEMORY_IDENTITY = memoryIdentity(MEMORY);

/** F2 of the contracts: every field away from its default. */
export function fixtureTwo(): RunConfig {
  return runConfig({
    model: 'model-x',
    temperature: 0.17,
    maxIterations: 37,
    tools: ['alpha', 'beta'],
    toolGroups: ['ignored-when-tools-explicit'],
    excludeTools: ['beta'],
    autoExecuteTools: false,
    agentType: 'writer',
    uid: 'user-7',
    skills: ['planning'],
    enableMemory: true,
    memory: MEMORY,
    knowledge: { enable_extraction: false, default_scopes: ['project:test'] },
    parallelToolExecution: true,
    childExecutionMode: 'parallel',
    maxParallelChildren: 4,
    sideBranchMaxTurns: 7,
    goalCompression: 'on_complete',
    enablePromptCaching: false,
    enableResearchFlow: false,
    extraLlmParams: { top_p: 0.8 },
    context: { project_name: 'demo', business: { lane: 2 } },
  });
}

/** The frozen fixture of version 2: F1 with what version 2 adds. It never changes. */
export function fixtureVersionTwo(): RunConfig {
  return runConfig({
    ...fixtureOne(),
    applicationRef: 'desk@3.1.0',
    budgets: { maxTokens: 20_000, maxCostMicros: null, maxWallMs: 60_000 },
  });
}
