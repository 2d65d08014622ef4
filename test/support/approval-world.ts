import {
  Approvals,
  type CallBinding,
  consume,
  type NewRequest,
  type PermissionRequest,
  requestPermission,
  requireRequest,
  type Said,
  type ValidateArguments,
} from '../../src/approvals/index.ts';
import { AGENT, append, openCalls, OWNER, type SessionWorld } from './session-world.ts';

/** Accepts an object whose `value` is a whole number below 100. */
export const validate: ValidateArguments = async (_action, edited) =>
  typeof edited['value'] === 'number' && edited['value'] < 100
    ? { ok: true }
    : { ok: false, issues: [{ path: '/value', message: 'must be below 100' }] };

export const approvalsOf = (world: SessionWorld): Approvals => new Approvals(world.store, world.context, { validate });

/** A dangerous call in an open group, proposed and asked about: `value` may be edited, `fixed` may not. */
export async function ask(world: SessionWorld, change: Partial<NewRequest> = {}): Promise<PermissionRequest> {
  const groupId = change.groupId ?? (await openCalls(world)).groupId;
  const actionId = change.actionId ?? 'danger-1';
  const request: NewRequest = {
    groupId,
    actionId,
    toolCallId: actionId,
    runId: 'run-1',
    tool: 'dangerous_tool',
    toolRevision: 'dangerous_tool-v1',
    target: 'result.txt',
    sideEffectClass: 'workspace_write',
    arguments: { value: 1, fixed: 'fixed' },
    policyRevision: 'enforce:',
    approver: { roles: ['owner'], subjects: [], requesterMayDecide: false },
    editable: ['value'],
    reason: 'dangerous_tool asks for a person.',
    ...change,
  };
  await append(world, {
    groupId,
    type: 'proposed',
    actionId,
    toolCallId: actionId,
    canonicalArguments: request.arguments,
    result: { tool: request.tool },
  });
  return world.store.write('test.ask', (tx) => requestPermission(tx, world.context, AGENT, request));
}

export const bindingOf = ({ action }: PermissionRequest): CallBinding => ({
  runId: action.runId,
  groupId: action.groupId,
  toolCallId: action.toolCallId,
  tool: action.tool,
  toolRevision: action.toolRevision,
  argumentsSha256: action.argumentsSha256,
  policyRevision: action.policyRevision,
});

export const say = (request: PermissionRequest, change: Partial<Said> = {}): Said => ({
  requestId: request.action.requestId,
  decision: 'approve',
  digest: request.action.requestSha256,
  ...change,
});

export const read = (world: SessionWorld, request: PermissionRequest | string): Promise<PermissionRequest> =>
  world.store.read('test.read', (tx) =>
    requireRequest(tx, OWNER, typeof request === 'string' ? request : request.action.requestId),
  );

/** Uses a permission for the call it was given for, or for a changed one. */
export const use = (world: SessionWorld, request: PermissionRequest, change: Partial<CallBinding> = {}) =>
  world.store.write('test.use', (tx) =>
    consume(tx, world.context, AGENT, {
      requestId: request.action.requestId,
      by: 'execution-1',
      binding: { ...bindingOf(request), ...change },
    }),
  );
