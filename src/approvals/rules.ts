import { fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import type { Page, Principal, SessionContext } from '../sessions/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';
import { mayDecide } from './decisions.ts';
import type { ApproverRule, PermissionRule, RuleDecision, RuleScope } from './model.ts';
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
/** The letters of tools' names, and `*`. A rule of other letters would match no tool, and a denial would deny nothing. */
const TOOL_PATTERN = /^[A-Za-z*][A-Za-z0-9_*-]*$/;

function checkRule(rule: NewRule): void {
  requireText('tool', rule.tool, LIMITS.sessionIdCodePoints);
  requireText('pattern', rule.pattern, LIMITS.approvalTextCodePoints);
  if (!DECISIONS.includes(rule.decision)) throw fail('INVALID_VALUE', 'decision must be allow, ask or deny.');
  if (!SCOPES.includes(rule.scope)) throw fail('INVALID_VALUE', 'scope must be global, project or conversation.');
  if ((rule.scope === 'global') !== (rule.scopeId === undefined))
    throw fail('INVALID_VALUE', 'A project or conversation rule names its scope; a global one does not.');
}

/** Whoever may decide what waits may also say once for all what is to wait: APPROVER_NOT_ALLOWED for everybody else. */
export function requireRuleMaker(approver: ApproverRule, principal: Principal): void {
  if (mayDecide(approver, principal)) return;
  const named = [...approver.roles.map((role) => `the role ${role}`), ...approver.subjects];
  throw fail(
    'APPROVER_NOT_ALLOWED',
    'You are not among those who may decide, so no standing rule is yours to change.',
    {
      resolve:
        named.length === 0 ? 'Name in the configuration who may decide (`approver`).' : `Ask ${named.join(' or ')}.`,
    },
  );
}

/**
 * Makes or replaces a standing rule in a person's name. The host calls this for people only: never for what a model
 * wants. The tool is a name, or one with `*`. The scope must be one of the principal's tenant: PROJECT_NOT_FOUND or
 * SESSION_NOT_FOUND; INVALID_VALUE, LIMIT_REACHED.
 */
export async function putRule(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rule: NewRule,
): Promise<PermissionRule> {
  checkRule(rule);
  if (!TOOL_PATTERN.test(rule.tool))
    throw fail(
      'INVALID_VALUE',
      'tool must be the name of a tool, or one with `*`: a letter or `*`, then letters, digits, `_`, `-` or `*`.',
    );
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
  const params = [rule.scopeId ?? '', principal.tenant];
  if (rule.scope === 'conversation' && !(await tx.get(sql.OWNS_SESSION, params)))
    throw fail('SESSION_NOT_FOUND', 'There is no such session.');
  if (rule.scope === 'project' && !(await tx.get(sql.OWNS_PROJECT, params)))
    throw fail('PROJECT_NOT_FOUND', 'There is no such project.', {
      resolve: 'Name a project of this tenant; to see those of your sessions: holdfast sessions list --json',
    });
}

async function storeRule(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rule: NewRule,
  kind: 'person' | 'import',
): Promise<PermissionRule> {
  const { scope, scopeId = '', tool, pattern } = rule;
  const others = await tx.get(sql.COUNT_OTHER_RULES, [principal.tenant, scope, scopeId, tool, pattern]);
  const resolve = 'Drop one that is not needed: holdfast rules drop ID. To see them: holdfast rules list.';
  requireWithin('approvalRulesConsidered', Number(others?.['rules']) + 1, resolve);
  const now = context.clock.nowMs();
  const row = await tx.get(sql.PUT_RULE, [
    context.ids.next(),
    principal.tenant,
    scope,
    scopeId,
    tool,
    pattern,
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

/** Removes a standing rule, and answers what it was. PERMISSION_RULE_NOT_FOUND. */
export async function dropRule(tx: Tx, principal: Principal, ruleId: string): Promise<PermissionRule> {
  const row = await tx.get(sql.DROP_RULE, [ruleId, principal.tenant]);
  if (!row) throw fail('PERMISSION_RULE_NOT_FOUND', 'There is no such permission rule.');
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'permission_rule.removed', reference: ruleId });
  return ruleOf(row);
}

/** Rules of a tenant, of whatever scope, oldest first. `after` is the `next` of the page before. INVALID_VALUE. */
export async function pageOfRules(
  tx: ReadTx,
  principal: Principal,
  { after = '', limit: wanted = 100 }: { readonly after?: string; readonly limit?: number } = {},
): Promise<Page<PermissionRule>> {
  if (!Number.isInteger(wanted) || wanted < 1) throw fail('INVALID_VALUE', 'limit must be a whole number from 1.');
  const limit = Math.min(wanted, LIMITS.sessionPageRows);
  const rows = await tx.all(sql.PAGE_OF_RULES, [principal.tenant, after, limit + 1]);
  const items = rows.slice(0, limit).map(ruleOf);
  return { items, next: rows.length > limit ? (items.at(-1)?.ruleId ?? null) : null };
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
