import {
  dropRule,
  isExactName,
  matchesPattern,
  type NewRule,
  pageOfRules,
  type PermissionRule,
  putRule,
  requireRuleMaker,
  type RuleDecision,
} from '../approvals/index.ts';
import { checkOptions, fail, type JsonObject } from '../core/index.ts';
import type { Page, Principal } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { RULE_OPTIONS, RULE_PAGE_OPTIONS } from './option-shapes.ts';
import type { Runtime } from './runtime.ts';

/** A standing rule as a person makes it. Without `sessionId` and `projectId` it holds everywhere in the tenant. */
export interface StandingRuleOptions {
  readonly decision: RuleDecision;
  /** The name of a tool, or one with `*`. Only an allow for exactly one tool lowers what that tool itself asks for. */
  readonly tool: string;
  /** What the call is aimed at: `*` is anything but `/`, `**` anything. Default `**`, 1 to 4,096 code points. */
  readonly pattern?: string;
  readonly sessionId?: string;
  readonly projectId?: string;
}

/** A standing rule, with what it does. Times are epoch ms. */
export interface StandingRule {
  readonly ruleId: string;
  readonly decision: RuleDecision;
  readonly tool: string;
  readonly pattern: string;
  /** Where it holds; both null: everywhere in the tenant. */
  readonly projectId: string | null;
  readonly sessionId: string | null;
  /** Who made it last; a rule that came with a package has nobody. */
  readonly madeBy: { readonly kind: 'person'; readonly subject: string } | { readonly kind: 'import' };
  /** Whether calls of a tool that asks for a person itself go on without one. */
  readonly lowersToolAsk: boolean;
  /** What it does with the calls that it matches, in words. */
  readonly effect: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One page of standing rules; `next` is the `after` of the page that follows. */
export interface StandingRulePage {
  readonly items: readonly StandingRule[];
  readonly next: string | null;
}

/** Which rules are listed: those after this one, and how many. */
export interface StandingRuleQuery {
  readonly after?: string;
  /** From 1; default 100, and never more than 500. */
  readonly limit?: number;
}

/** Standing rules as the owner of a runtime makes them: what is allowed, asked about or denied from now on. */
export class StandingRules {
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The rules of the tenant, of whatever scope, oldest first. INVALID_VALUE. */
  async list(query: StandingRuleQuery = {}): Promise<StandingRulePage> {
    checkOptions('rules.list', query, RULE_PAGE_OPTIONS);
    return listStandingRules(this.#runtime, this.#runtime.principal, query);
  }

  /**
   * Makes a rule in the principal's name, or says something else with the one of the same scope, tool and pattern. It
   * holds from the next call on, in every process. INVALID_VALUE, also for an option of another name; APPROVER_NOT_ALLOWED
   * for whoever may not decide what waits; PROJECT_NOT_FOUND, SESSION_NOT_FOUND, LIMIT_REACHED.
   */
  async put(options: StandingRuleOptions): Promise<StandingRule> {
    checkRuleOptions(options);
    const { store, principal } = this.#runtime;
    return store.write('rules.put', (tx) => putStandingRule(tx, this.#runtime, principal, options));
  }

  /** Removes a rule, and answers what it was. PERMISSION_RULE_NOT_FOUND, APPROVER_NOT_ALLOWED, INVALID_VALUE. */
  async drop(ruleId: string): Promise<StandingRule> {
    if (typeof ruleId !== 'string') throw fail('INVALID_VALUE', 'The id of a rule must be text.');
    const { store, principal } = this.#runtime;
    return store.write('rules.drop', (tx) => dropStandingRule(tx, this.#runtime, principal, ruleId));
  }
}

/** An option that is misspelled would widen a rule, so none is passed over here. */
function checkRuleOptions(options: StandingRuleOptions): void {
  checkOptions('rules.put', options, RULE_OPTIONS);
  const known = Object.keys({ ...RULE_OPTIONS.needed, ...RULE_OPTIONS.optional });
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const option = unknown.slice(0, 64).toWellFormed();
  throw fail('INVALID_VALUE', `\`${option}\` is no option of \`rules.put\`: ${known.join(', ')}.`, {
    details: { option },
  });
}

/** The rules of the principal's tenant; see `StandingRules.list`. */
export async function listStandingRules(
  { store }: Pick<Runtime, 'store'>,
  principal: Principal,
  query: StandingRuleQuery,
): Promise<StandingRulePage> {
  const page: Page<PermissionRule> = await store.read('rules.list', (tx) => pageOfRules(tx, principal, query));
  return { items: page.items.map(standingRuleOf), next: page.next };
}

/** Makes a rule in a person's name, in the caller's transaction; see `StandingRules.put`. */
export async function putStandingRule(
  tx: Tx,
  { calls }: Pick<Runtime, 'calls'>,
  principal: Principal,
  options: StandingRuleOptions,
): Promise<StandingRule> {
  requireRuleMaker(calls.approver, principal);
  return standingRuleOf(await putRule(tx, calls.sessions, principal, newRuleOf(options)));
}

function newRuleOf({ decision, tool, pattern = '**', sessionId, projectId }: StandingRuleOptions): NewRule {
  const said = { tool, pattern, decision };
  if (sessionId !== undefined && projectId !== undefined)
    throw fail(
      'INVALID_VALUE',
      'A rule holds in one session, in one project or everywhere: name a session or a project.',
    );
  if (sessionId !== undefined) return { ...said, scope: 'conversation', scopeId: sessionId };
  if (projectId !== undefined) return { ...said, scope: 'project', scopeId: projectId };
  return { ...said, scope: 'global' };
}

/** Removes a rule, in the caller's transaction; see `StandingRules.drop`. */
export async function dropStandingRule(
  tx: Tx,
  { calls }: Pick<Runtime, 'calls'>,
  principal: Principal,
  ruleId: string,
): Promise<StandingRule> {
  requireRuleMaker(calls.approver, principal);
  return standingRuleOf(await dropRule(tx, principal, ruleId));
}

function standingRuleOf(rule: PermissionRule): StandingRule {
  const { ruleId, decision, tool, pattern, scope, scopeId, madeBy, createdAt, updatedAt } = rule;
  return {
    ruleId,
    decision,
    tool,
    pattern,
    projectId: scope === 'project' ? scopeId : null,
    sessionId: scope === 'conversation' ? scopeId : null,
    madeBy,
    lowersToolAsk: decision === 'allow' && madeBy.kind === 'person' && isExactName(tool),
    effect: effectOf(rule),
    createdAt,
    updatedAt,
  };
}

/** As `judgeCall` and `judge` have it. */
function effectOf({ decision, tool, pattern }: PermissionRule): string {
  const does = decision === 'allow' ? `${allowsHow(tool)} ${ALLOW_ENDS}` : DOES[decision];
  return matchesPattern(pattern, '') ? does : `${does} It matches no call of a tool that names nothing it touches.`;
}

const DOES = {
  ask: 'Calls that it matches wait for a person, whatever allows them; what denies them wins.',
  deny: 'Calls that it matches are refused, whatever allows them.',
};

const ALLOW_ENDS =
  'Whatever denies or asks beside it wins, and an agent with `askForEach` waits all the same. Where whoever asks may not decide, it allows nothing of its maker’s own runs.';

const allowsHow = (tool: string): string =>
  isExactName(tool)
    ? 'Calls that it matches go on without a person, also where the tool itself asks for one.'
    : 'Calls that it matches go on without a person, but not where the tool itself asks for one: only an allow that names exactly one tool, without `*`, lowers that.';

/** A standing rule as `--json` and HTTP carry it. Snake case, closed. */
export function standingRuleDocument(rule: StandingRule): JsonObject {
  return {
    rule_id: rule.ruleId,
    decision: rule.decision,
    tool: rule.tool,
    pattern: rule.pattern,
    project_id: rule.projectId,
    session_id: rule.sessionId,
    made_by_kind: rule.madeBy.kind,
    made_by: rule.madeBy.kind === 'person' ? rule.madeBy.subject : null,
    lowers_tool_ask: rule.lowersToolAsk,
    effect: rule.effect,
    created_at: rule.createdAt,
    updated_at: rule.updatedAt,
  };
}
