import {
  fieldsOption,
  type FieldShapes,
  flagOption,
  functionOption,
  functionsOption,
  LIMITS,
  listOption,
  nullableOption,
  objectOption,
  recordOption,
  shapeOf,
  stringOption,
  textOption,
  wholeOption,
  wordOption,
} from '../core/index.ts';
import { isMadeTool } from '../tools/index.ts';

const principalOption = fieldsOption({
  needed: { tenant: textOption(), subject: textOption(), roles: listOption(textOption()) },
});

const policyOption = fieldsOption({ needed: { name: stringOption, revision: stringOption, decide: functionOption } });

const approverOption = fieldsOption({
  needed: { roles: listOption(textOption()), subjects: listOption(textOption()), requesterMayDecide: flagOption },
});

/** Their bounds are told by whoever starts them; see `startNotices`. */
const noticesOption = fieldsOption({
  optional: {
    webhook: fieldsOption({ needed: { url: stringOption, secret: stringOption } }),
    command: listOption(shapeOf('text without NUL', (value) => typeof value === 'string' && !value.includes('\0'))),
  },
});

const listenerOption = fieldsOption({
  optional: Object.fromEntries(
    [
      'onText',
      'onProposed',
      'onStarted',
      'onOutcome',
      'onRetry',
      'onChanged',
      'onChild',
      'onProgress',
      'onCallRetry',
    ].map((name) => [name, functionOption] as const),
  ),
});

const numberOption = shapeOf('a number', (value) => typeof value === 'number' && Number.isFinite(value));

const settingsOption = fieldsOption({
  optional: {
    temperature: numberOption,
    topP: numberOption,
    maxOutputTokens: numberOption,
    seed: numberOption,
    providerOptions: objectOption,
  },
});

const toolsOption = listOption(shapeOf('what `tool({...})` returned', isMadeTool));

const pathOption = shapeOf(
  'the name of a folder, not blank and without NUL',
  (value) => typeof value === 'string' && value.trim() !== '' && !value.includes('\0'),
);

/** The options of `Holdfast.open`. */
export const OPEN_OPTIONS: FieldShapes = {
  optional: {
    dataDir: pathOption,
    create: flagOption,
    principal: principalOption,
    projectId: textOption(),
    policies: fieldsOption({ needed: { policies: listOption(policyOption), mode: wordOption(['enforce', 'shadow']) } }),
    approver: approverOption,
    approvalExpiresMs: nullableOption(wholeOption(1, LIMITS.approvalExpiresMs)),
    notices: noticesOption,
    sideBranches: listOption(fieldsOption({ needed: { type: textOption() }, optional: { onClosed: functionOption } })),
    tools: toolsOption,
    retiredTools: toolsOption,
    workspaceOf: functionOption,
    secretsIn: objectOption,
    telemetry: functionsOption('within', 'record'),
    onDamage: functionOption,
    clock: functionsOption('nowMs'),
    ids: functionsOption('next'),
    observer: functionOption,
    faults: functionsOption('reach'),
    instanceLeaseMs: wholeOption(1, LIMITS.instanceLeaseMs),
    closeWaitMs: wholeOption(0, LIMITS.closeWaitMs),
    comesBack: flagOption,
  },
};

const reviewerOption = fieldsOption({ optional: { prompt: stringOption, settings: settingsOption } });

/** The options of an agent. Bounds, its name and the model are looked at by `agentOf`. */
export const AGENT_OPTIONS: FieldShapes = {
  optional: {
    tools: toolsOption,
    instructions: stringOption,
    settings: settingsOption,
    askForEach: flagOption,
    budgets: objectOption,
    costOf: functionOption,
    retries: fieldsOption({ optional: { most: numberOption, pauseMs: numberOption } }),
    maxTurns: numberOption,
    maxParallelChildren: numberOption,
    sideBranchMaxTurns: numberOption,
    childMode: wordOption(['sequential', 'parallel']),
    purpose: stringOption,
    checkpoints: wordOption(['never', 'before_writes']),
    autonomy: fieldsOption({
      needed: { reviewer: reviewerOption },
      optional: { permissionReviewer: reviewerOption, budgets: objectOption },
    }),
    listener: listenerOption,
  },
};

/** What `run.approve` and `run.reject` decide, as it was shown. */
export const REQUEST_OPTION = fieldsOption({ needed: { requestId: stringOption, digest: stringOption } });
/** The changed arguments of `run.approve`: whoever gives an edit means one. */
export const EDIT_OPTION = fieldsOption({ needed: { editedArguments: objectOption } });

/** The options of `agent.run` and `agent.resume`. */
export const RUN_OPTIONS: FieldShapes = {
  optional: {
    rootFrameId: textOption(),
    branchId: textOption(),
    principal: principalOption,
    listener: listenerOption,
    adopt: flagOption,
  },
};

/** The options of `rules.put`; the letters of a tool and who has the session or the project is told by `putRule`. */
export const RULE_OPTIONS: FieldShapes = {
  needed: { decision: wordOption(['allow', 'ask', 'deny']), tool: textOption() },
  optional: { pattern: textOption(LIMITS.approvalTextCodePoints), sessionId: textOption(), projectId: textOption() },
};

/** The options of `rules.list`. */
export const RULE_PAGE_OPTIONS: FieldShapes = {
  optional: { after: stringOption, limit: wholeOption(1, Number.MAX_SAFE_INTEGER) },
};

/** The options of `carryOnDecided`. */
export const CARRY_ON_OPTIONS: FieldShapes = { optional: { listener: listenerOption, onError: functionOption } };

const serverOption = fieldsOption({
  needed: { server: objectOption },
  optional: {
    policies: shapeOf('an object or a function', (value) => typeof value === 'object' || typeof value === 'function'),
  },
});

/** What a configuration has: the options of `Holdfast.open`, its agents, and the servers that they name. */
export const CONFIGURED_OPTIONS: FieldShapes = {
  needed: {
    agents: listOption(fieldsOption({ optional: { ...AGENT_OPTIONS.optional, mcpServers: listOption(stringOption) } })),
  },
  optional: { ...OPEN_OPTIONS.optional, mcpServers: recordOption(serverOption) },
};

/** What every guard is given. */
const GUARD_BASICS: FieldShapes = {
  needed: {
    dataDir: pathOption,
    policy: shapeOf('text or bytes', (value) => typeof value === 'string' || value instanceof Uint8Array),
  },
  optional: {
    waitMs: wholeOption(0, LIMITS.guardWaitMs),
    onOpen: functionOption,
    command: functionOption,
    clock: functionsOption('nowMs'),
    observer: functionOption,
    faults: functionsOption('reach'),
  },
};

const streamsOption = fieldsOption({
  needed: {
    input: functionsOption('on'),
    output: functionsOption('write'),
    errors: functionsOption('write'),
  },
});

/** The settings of `runGuard`. */
export const GUARD_OPTIONS: FieldShapes = {
  needed: {
    ...GUARD_BASICS.needed,
    server: fieldsOption({
      needed: { command: stringOption, args: listOption(stringOption) },
      optional: { env: objectOption, cwd: stringOption },
    }),
    host: streamsOption,
  },
  optional: { ...GUARD_BASICS.optional },
};

/** The settings of `runHttpGuard`. */
export const HTTP_GUARD_OPTIONS: FieldShapes = {
  needed: {
    ...GUARD_BASICS.needed,
    url: stringOption,
    port: wholeOption(0, 65_535),
    tell: functionOption,
  },
  optional: { ...GUARD_BASICS.optional },
};
