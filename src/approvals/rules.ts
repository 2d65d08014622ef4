import { fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import type { Principal, SessionContext } from '../sessions/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';
import type { PermissionRule, RuleDecision, RuleScope } from './model.ts';
import * as sql from './queries.ts';
import { ruleOf } from './rows.ts';

export interface NewRule {
  readonly scope: RuleScope;
  /** The project or the session; absent for global. */
  readonly scopeId?: string;
  readonly tool: string;
  readonly pattern: string;
  readonly decision: RuleDecision;
}

const DECISIONS: readonly string[] = ['allow', 'ask', 'deny'];
const SCOPES: readonly string[] = ['global', 'project', 'conversation'];

function checkRule(rule: NewRule): void {
  requireText('tool', rule.tool, LIMITS.sessionIdCodePoints);
  requireText('pattern', rule.pattern, LIMITS.approvalTextCodePoints);
  if (!DECISIONS.includes(rule.decision)) throw fail('INVALID_VALUE', 'decision must be allow, ask or deny.');
  if (!SCOPES.includes(rule.scope)) throw fail('INVALID_VALUE', 'scope must be global, project or conversation.');
  if ((rule.scope === 'global') !== (rule.scopeId === undefined))
    throw fail('INVALID_VALUE', 'A project or conversation rule names its scope; a global one does not.');
}

/**
 * Makes or replaces a standing rule in a person's name. The host calls this for people only: never for what a model
 * wants. The scope must be one of the principal's tenant: PROJECT_NOT_FOUND or SESSION_NOT_FOUND; INVALID_VALUE,
 * LIMIT_REACHED.
 */
export async function putRule(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rule: NewRule,
): Promise<PermissionRule> {
  checkRule(rule);
  await requireScope(tx, principal, rule);
  return storeRule(tx, context, principal, rule, 'person');
}

/** A rule that came with a package: what would allow asks instead, however the word is spelled. */
export async function importRule(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rule: Omit<NewRule, 'decision'> & { readonly decision: string },
): Promise<PermissionRule> {
  const tame: NewRule = { ...rule, decision: importedDecision(rule.decision) };
  checkRule(tame);
  await requireScope(tx, principal, tame);
  return storeRule(tx, context, principal, tame, 'import');
}

/** `deny` stays a denial; every other word, in whatever letters, asks. */
export function importedDecision(word: string): RuleDecision {
  return word.normalize('NFKC').toUpperCase().toLowerCase() === 'deny' ? 'deny' : 'ask';
}

async function requireScope(tx: ReadTx, principal: Principal, rule: NewRule): Promise<void> {
  if (rule.scope === 'global') return;
  const [text, code] =
    rule.scope === 'project'
      ? ([sql.OWNS_PROJECT, 'PROJECT_NOT_FOUND'] as const)
      : ([sql.OWNS_SESSION, 'SESSION_NOT_FOUND'] as const);
  if (!(await tx.get(text, [rule.scopeId ?? '', principal.tenant])))
    throw fail(code, `There is no such ${rule.scope}.`);
}

async function storeRule(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rule: NewRule,
  kind: 'person' | 'import',
): Promise<PermissionRule> {
  const counted = await tx.get(sql.COUNT_RULES, [principal.tenant]);
  requireWithin('approvalRulesConsidered', Number(counted?.['rules']) + 1);
  const now = context.clock.nowMs();
  const row = await tx.get(sql.PUT_RULE, [
    context.ids.next(),
    principal.tenant,
    rule.scope,
    rule.scopeId ?? '',
    rule.tool,
    rule.pattern,
    rule.decision,
    kind,
    kind === 'person' ? principal.subject : null,
    now,
    now,
  ]);
  const stored = ruleOf(row ?? {});
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'permission_rule.set', reference: stored.ruleId });
  return stored;
}

/** Removes a standing rule. PERMISSION_RULE_NOT_FOUND. */
export async function dropRule(tx: Tx, principal: Principal, ruleId: string): Promise<void> {
  const { changes } = await tx.run(sql.DROP_RULE, [ruleId, principal.tenant]);
  if (changes === 0) throw fail('PERMISSION_RULE_NOT_FOUND', 'There is no such permission rule.');
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'permission_rule.removed', reference: ruleId });
}

/** The rules of one scope, by tool and pattern. */
export async function listRules(
  tx: ReadTx,
  principal: Principal,
  scope: RuleScope,
  scopeId: string,
): Promise<PermissionRule[]> {
  const limit = LIMITS.approvalRulesConsidered;
  return (await tx.all(sql.LIST_RULES, [principal.tenant, scope, scopeId, limit])).map(ruleOf);
}

/** Every rule that a call of this session is held against: global, of its project, and its own. */
export async function rulesFor(
  tx: ReadTx,
  principal: Principal,
  place: { readonly projectId: string; readonly rootFrameId: string },
): Promise<PermissionRule[]> {
  const limit = LIMITS.approvalRulesConsidered;
  const params = [principal.tenant, place.projectId, place.rootFrameId, limit];
  return (await tx.all(sql.LIST_RULES_FOR, params)).map(ruleOf);
}
