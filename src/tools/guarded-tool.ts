import { tool } from './define-tool.ts';
import { TOOL_EFFECTS, type Tool, type ToolRevisions, type ToolStatus } from './model.ts';
import { NotDone } from './not-done.ts';

/** The revision under which the guard's tools are stored. */
export const GUARD_REVISION = 'guard-v1';

/** How deep an answer of a guarded server may be that the ledger keeps. */
export const GUARD_KEPT_DEPTH = 24;

/**
 * What a guarded tool may answer to the ledger: what is kept of its server's answer, in the object that holds it, and
 * that in another one where the server was asked. The bound of the answer counts from 0.
 */
export const GUARD_OUTPUT_LIMITS = { maxDepth: GUARD_KEPT_DEPTH + 1 + 2 };

/** The guard checks no schema of the server's: the server does. What it holds to is that arguments are an object. */
export const ANY_OBJECT = Object.freeze({ type: 'object' });

const ONLY_THE_GUARD: ToolStatus = Object.freeze({
  state: 'unknown',
  reason: 'Only the guard in front of its server can ask it: through its tool holdfast_settle.',
});

/**
 * The tool of a guarded server as a process without the guard needs it, to judge or settle what was stored under these
 * revisions; null for revisions that no guard made. It can be executed by nobody. It stands here and not with the guard,
 * since every process needs it, and most need nothing else of the guard.
 */
export function settledGuardTool(name: string, revisions: ToolRevisions): Tool | null {
  const { handler } = revisions;
  const effect = TOOL_EFFECTS.find((one) => one === revisions.effect);
  if (handler !== GUARD_REVISION || effect === undefined) return null;
  return tool({
    name,
    description: '',
    inputSchema: ANY_OBJECT,
    effect,
    outputLimits: GUARD_OUTPUT_LIMITS,
    revisions,
    execute: () => {
      throw new NotDone('Only the guard in front of its server can call this tool.');
    },
    ...(effect === 'reconcilable' ? { status: () => ONLY_THE_GUARD } : {}),
  });
}

/** As above, known by what a permission request keeps of a tool; null for a request that no guard made. */
export function guardedToolOf(name: string, of: { readonly effect: string; readonly policy: string }): Tool | null {
  if (!of.policy.startsWith(`${GUARD_REVISION}-`)) return null;
  return settledGuardTool(name, {
    ...of,
    inputSchema: GUARD_REVISION,
    outputSchema: GUARD_REVISION,
    handler: GUARD_REVISION,
    producer: GUARD_REVISION,
  });
}
