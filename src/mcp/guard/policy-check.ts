import { canonicalJson, fail, type HoldfastError, type JsonValue } from '../../core/index.ts';
import { pointerSegment } from './json-pointer.ts';
import type { PolicyFile } from './policy-schema.ts';

/** A place in the policy, as a JSON pointer, and the rule that it breaks. Nothing of the file's values is repeated. */
export function invalidPolicy(at: string, rule: string): HoldfastError {
  return fail('POLICY_INVALID', `The policy is wrong at ${at === '' ? 'its top' : at}: ${rule}.`, { details: { at } });
}

/** Refuses what has the right shape and can never work, or says two things at once. */
export function refuseImpossible(file: PolicyFile): void {
  for (const [tool, described] of Object.entries(file.tools)) {
    const at = `/tools/${pointerSegment(tool)}`;
    checkRead(at, described);
    checkRoles(at, described);
    checkRoots(at, described, file.roots);
    checkStatus(at, described, file.tools);
  }
  const seen = new Map<string, number>();
  for (const [index, rule] of file.rules.entries()) {
    const at = `/rules/${index}`;
    if (seen.has(rule.id)) throw invalidPolicy(`${at}/id`, 'another rule has this id');
    seen.set(rule.id, index);
    if (rule.approvers && rule.decision !== 'ask') throw invalidPolicy(`${at}/approvers`, 'only ask has approvers');
    for (const [i, one] of rule.when.entries())
      if (one.within !== undefined && !Object.hasOwn(file.roots, one.within))
        throw invalidPolicy(`${at}/when/${i}/within`, 'no root has this name');
  }
  checkContradictions(file);
}

type Described = PolicyFile['tools'][string];

function checkRead(at: string, tool: Described): void {
  if (tool.effect !== 'read') return;
  if (tool.on_error !== undefined) throw invalidPolicy(`${at}/on_error`, 'a read that fails has changed nothing');
  if (tool.resources !== undefined) throw invalidPolicy(`${at}/resources`, 'a read changes nothing');
  if (tool.postconditions.length > 0) throw invalidPolicy(`${at}/postconditions`, 'a read changes nothing');
}

function checkRoles(at: string, tool: Described): void {
  const targets = Array.isArray(tool.resources) ? tool.resources : [];
  const roles = targets.map((one) => one.role);
  if (new Set(roles).size !== roles.length) throw invalidPolicy(`${at}/resources`, 'two targets have one role');
  for (const [i, condition] of tool.postconditions.entries()) {
    const target = targets.find((one) => one.role === condition.role);
    const place = `${at}/postconditions/${i}`;
    if (!target) throw invalidPolicy(`${place}/role`, 'no resource of this tool has this role');
    if (target.kind !== 'filesystem') throw invalidPolicy(place, 'only files and folders can be read back here');
  }
}

function checkRoots(at: string, tool: Described, roots: PolicyFile['roots']): void {
  const targets = Array.isArray(tool.resources) ? tool.resources : [];
  for (const [i, target] of targets.entries())
    if (target.kind === 'filesystem' && !Object.hasOwn(roots, target.root))
      throw invalidPolicy(`${at}/resources/${i}/root`, 'no root has this name');
}

/** Only a tool that is known to read may be called to find out what another one did. */
function checkStatus(at: string, { effect, status }: Described, tools: PolicyFile['tools']): void {
  if (status === undefined) {
    if (effect === 'reconcilable') throw invalidPolicy(`${at}/status`, 'a reconcilable tool says how it is asked');
    return;
  }
  if (effect !== 'reconcilable') throw invalidPolicy(`${at}/status`, 'only a reconcilable tool is asked');
  const asked = Object.hasOwn(tools, status.tool) ? tools[status.tool] : undefined;
  if (asked?.effect !== 'read')
    throw invalidPolicy(`${at}/status/tool`, 'the policy describes no reading tool of this name');
}

/** Two rules about the same calls must not decide differently, and no rule may stand where another always denies. */
function checkContradictions(file: PolicyFile): void {
  const decided = new Map<string, string>();
  const denied = new Set(
    file.rules.filter((rule) => rule.decision === 'deny' && rule.when.length === 0).flatMap((rule) => rule.tools),
  );
  for (const [index, rule] of file.rules.entries()) {
    const at = `/rules/${index}`;
    for (const tool of rule.tools) {
      const calls = canonicalJson([tool, rule.when as unknown as JsonValue]);
      const other = decided.get(calls);
      if (other !== undefined && other !== rule.decision)
        throw invalidPolicy(at, 'another rule decides the same calls differently');
      decided.set(calls, rule.decision);
    }
    if (rule.decision !== 'deny' && rule.tools.every((tool) => denied.has(tool) || denied.has('*')))
      throw invalidPolicy(at, 'it can never apply: another rule denies all its tools');
  }
}
