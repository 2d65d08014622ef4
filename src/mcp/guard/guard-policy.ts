import type { Policy as HostPolicy, PolicySet } from '../../approvals/index.ts';
import { LIMITS } from '../../core/index.ts';
import { localToolName } from '../tool-names.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import { judgeCall } from './policy-decision.ts';

/** The names of guarded tools as the host says them, by the names under which calls are kept. */
export class GuardNames {
  readonly #server: string;
  readonly #hostNames = new Map<string, string>();

  constructor(server: string) {
    this.#server = server;
  }

  /** The name under which calls of this tool are kept. */
  kept(hostName: string): string {
    const name = localToolName(this.#server, hostName);
    this.#hostNames.set(name, hostName);
    return name;
  }

  /** Whether a name that is kept can be that of a tool of this server. */
  isOfServer(kept: string): boolean {
    return kept.startsWith(`${this.#server}__`);
  }

  hostName(kept: string): string | undefined {
    return this.#hostNames.get(kept);
  }
}

/**
 * The policy file as one of the host's policies. Its revision changes with every byte that counts, so that what was
 * approved under another file is asked again.
 */
export function guardPolicies(sealed: SealedPolicy, names: GuardNames): PolicySet {
  const { policy } = sealed;
  const decide: HostPolicy['decide'] = (call) => {
    const hostName = names.hostName(call.tool);
    if (hostName === undefined) return null;
    const verdict = judgeCall(sealed, hostName, call.arguments);
    const told = verdict.reason.slice(0, LIMITS.approvalTextCodePoints).toWellFormed();
    if (verdict.decision !== 'deny') return { decision: verdict.decision, reason: told };
    // In shadow mode nothing is refused: that it would have been is reported like a call that would have been held.
    if (policy.mode === 'shadow') return { decision: 'ask', reason: `It would have been refused: ${told}` };
    // The outcome has this code already; one that says more is told with the reason.
    const more = verdict.code === null || verdict.code === 'POLICY_DENIED' ? '' : ` (${verdict.code})`;
    return { decision: 'deny', reason: `${told}${more}` };
  };
  const revision = `${policy.revision.slice(0, 40)}.${policy.digest.slice(0, 16)}`;
  return { policies: [{ name: policy.name.slice(0, 64), revision, decide }], mode: policy.mode };
}
