import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import {
  ANY_OBJECT,
  GUARD_OUTPUT_LIMITS,
  GUARD_REVISION,
  type Tool,
  tool,
  type ToolCallContext,
  type ToolRevisions,
  type ToolStatus,
} from '../../tools/index.ts';
import { localToolName } from '../tool-names.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import { describedTool } from './policy-decision.ts';
import { mapCall, type Mapping } from './policy-mapping.ts';
import type { PolicyTool } from './policy-model.ts';

/** How a call, or a question about one, reaches the server; given by the guard. */
export interface Reach {
  /** Throws what a tool's `execute` may throw. */
  deliver(call: ToolCallContext): Promise<JsonValue>;
  /** Asks what became of a call with these arguments. */
  ask(call: ToolCallContext, input: JsonObject): Promise<ToolStatus>;
}

const DEFAULT_TIMEOUT_SECONDS = 120;

/** One tool of a guarded server, as its policy describes it. */
export function guardTool(sealed: SealedPolicy, name: string, reach: Reach): Tool {
  const described = describedTool(sealed.policy, name);
  const mapping = mappingOnce((input) => mapCall(sealed, name, described, input));
  return tool({
    name: localToolName(sealed.policy.server, name),
    description: '',
    inputSchema: ANY_OBJECT,
    effect: described.effect,
    editable: described.editable,
    secretFields: described.secretFields,
    // What the policy promises is about an error that the server told, and is judged where its answer is: of a server
    // that is gone, or that cannot be read, it says nothing.
    outputLimits: GUARD_OUTPUT_LIMITS,
    timeoutMs: (described.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
    producer: sealed.policy.server,
    parallel: true,
    revisions: revisionsOf(described),
    // What is refused for what it names is refused by the policy, which is asked before anything starts.
    resources: (input) => {
      const found = mapping.of(input as JsonValue);
      return found.kind === 'mapped' ? found.resources : 'anything';
    },
    postconditions: (input) => {
      const found = mapping.again(input as JsonValue);
      return found.kind === 'mapped' ? found.postconditions : [];
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

/**
 * What a call touches and what it leaves behind are asked one after the other: the second answer is of the same look at
 * the files as the first, and no later question is, since they may have changed.
 */
function mappingOnce(map: (input: JsonValue) => Mapping) {
  let last: { readonly input: JsonValue; readonly mapping: Mapping } | null = null;
  return {
    of(input: JsonValue): Mapping {
      last = { input, mapping: map(input) };
      return last.mapping;
    },
    again(input: JsonValue): Mapping {
      const known = last?.input === input ? last.mapping : map(input);
      last = null;
      return known;
    },
  };
}

function revisionsOf(described: PolicyTool): ToolRevisions {
  return {
    inputSchema: GUARD_REVISION,
    outputSchema: GUARD_REVISION,
    effect: described.effect,
    handler: GUARD_REVISION,
    producer: GUARD_REVISION,
    policy: `${GUARD_REVISION}-${described.onError}`,
  };
}
