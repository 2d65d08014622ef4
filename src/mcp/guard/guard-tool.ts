import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import {
  NotDone,
  type Tool,
  tool,
  type ToolCallContext,
  type ToolRevisions,
  type ToolStatus,
} from '../../tools/index.ts';
import { localToolName } from '../tool-names.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import { describedTool } from './policy-decision.ts';
import { mapCall } from './policy-mapping.ts';
import { POLICY_EFFECTS, type PolicyTool } from './policy-model.ts';

/** How a call, or a question about one, reaches the server; given by the guard. */
export interface Reach {
  /** Throws what a tool's `execute` may throw. */
  deliver(call: ToolCallContext): Promise<JsonValue>;
  /** Asks what became of a call with these arguments. */
  ask(call: ToolCallContext, input: JsonObject): Promise<ToolStatus>;
}

/** The guard checks no schema of the server's: the server does. What it holds to is that arguments are an object. */
const ANY_OBJECT = Object.freeze({ type: 'object' });
const DEFAULT_TIMEOUT_SECONDS = 120;
const VERSION = 'guard-v1';

/** One tool of a guarded server, as its policy describes it. */
export function guardTool(sealed: SealedPolicy, name: string, reach: Reach): Tool {
  const described = describedTool(sealed.policy, name);
  const mapped = (input: unknown) => mapCall(sealed, name, described, input as JsonValue);
  return tool({
    name: localToolName(sealed.policy.server, name),
    description: '',
    inputSchema: ANY_OBJECT,
    effect: described.effect,
    editable: described.editable,
    secretFields: described.secretFields,
    onError: described.onError,
    timeoutMs: (described.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
    producer: sealed.policy.server,
    parallel: true,
    revisions: revisionsOf(described),
    // What is refused for what it names is refused by the policy, which is asked before anything starts.
    resources: (input) => {
      const mapping = mapped(input);
      return mapping.kind === 'mapped' ? mapping.resources : 'anything';
    },
    postconditions: (input) => {
      const mapping = mapped(input);
      return mapping.kind === 'mapped' ? mapping.postconditions : [];
    },
    execute: (_input, call) => reach.deliver(call),
    ...(described.status === null
      ? {}
      : {
          status: (input, call) => reach.ask(call, isJsonObject(input as JsonValue) ? (input as JsonObject) : {}),
          settlesWithinMs: described.status.settlesWithinSeconds * 1000,
        }),
  });
}

function revisionsOf(described: PolicyTool): ToolRevisions {
  return {
    inputSchema: VERSION,
    outputSchema: VERSION,
    effect: described.effect,
    handler: VERSION,
    producer: VERSION,
    policy: `${VERSION}-${described.onError}`,
  };
}

const ONLY_THE_GUARD: ToolStatus = Object.freeze({
  state: 'unknown',
  reason: 'Only the guard in front of its server can ask it: through its tool holdfast_settle.',
});

/**
 * The tool of a guarded server as a process without the guard needs it, to judge or settle what was stored under these
 * revisions; null for revisions that no guard made. It can be executed by nobody.
 */
export function settledGuardTool(name: string, revisions: ToolRevisions): Tool | null {
  const { handler, policy } = revisions;
  const effect = POLICY_EFFECTS.find((one) => one === revisions.effect);
  if (handler !== VERSION || effect === undefined) return null;
  return tool({
    name,
    description: '',
    inputSchema: ANY_OBJECT,
    effect,
    onError: policy === `${VERSION}-not_done` ? 'not_done' : 'unknown',
    revisions,
    execute: () => {
      throw new NotDone('Only the guard in front of its server can call this tool.');
    },
    ...(effect === 'reconcilable' ? { status: () => ONLY_THE_GUARD } : {}),
  });
}

/** As above, known by what a permission request keeps of a tool; null for a request that no guard made. */
export function guardedToolOf(name: string, of: { readonly effect: string; readonly policy: string }): Tool | null {
  if (!of.policy.startsWith(`${VERSION}-`)) return null;
  return settledGuardTool(name, {
    ...of,
    inputSchema: VERSION,
    outputSchema: VERSION,
    handler: VERSION,
    producer: VERSION,
  });
}
