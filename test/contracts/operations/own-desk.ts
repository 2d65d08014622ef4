import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  digestForCall,
  envelopeCode,
  type OperationApproval,
  type OperationTool,
  Operations,
  type OperationsOptions,
  operationsSchema,
  operationVerdictsSchema,
  requestDigest,
  type ToolCall,
  tableDownstream,
} from '../../../src/operations/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { temporaryFolder } from '../../support/index.ts';

export const CONTRACT = {
  name: 'create_refund_draft',
  inputSchema: 'input-1',
  outputSchema: 'output-1',
  effect: 'effect-1',
  handler: 'handler-1',
  producer: 'producer-1',
  policy: 'policy-1',
};

/** A tool that takes and gives anything. */
export const ANYTHING: OperationTool = {
  contract: CONTRACT,
  effect: 'idempotent',
  producerLabel: 'refunds',
  outputLimits: { maxBytes: 65_536, maxDepth: 64 },
  settlesWithinSeconds: 10,
  checkArguments: () => [],
  checkOutput: () => [],
  authorize: () => true,
  precondition: () => true,
};

export interface Own {
  readonly operations: Operations;
  readonly store: Awaited<ReturnType<typeof openSqliteStore>>;
  /** How often the other side acted. */
  effects: number;
}

export async function own(
  t: TestContext,
  tool: Partial<OperationTool> = {},
  options: Partial<OperationsOptions> = {},
): Promise<Own> {
  const schemas = options.verdicts ? [operationsSchema, operationVerdictsSchema] : [operationsSchema];
  const store = await openSqliteStore({ file: join(await temporaryFolder(t), 'runtime.db'), schemas });
  t.after(() => store.close());
  const made: Own = {
    store,
    effects: 0,
    operations: new Operations({
      store,
      tools: { current: (name) => (name === CONTRACT.name ? { ...ANYTHING, ...tool } : undefined) },
      isApprover: (approverId) => approverId === 'boss',
      downstream: tableDownstream(store, ({ effectIdentity }) => {
        made.effects += 1;
        const id = effectIdentity.slice(0, 24);
        return { receiptId: id, downstreamRequestId: id, resourceRevision: 'r1', data: { done: true } };
      }),
      ...options,
    }),
  };
  return made;
}

export function approvalOf(call: ToolCall, contract = CONTRACT): OperationApproval {
  const { operationId, callId, provider, apiFamily, adapterRevision, idempotencyKey } = call;
  const request = requestDigest(USER, contract, call.arguments);
  return {
    approvalId: 'approval-1',
    operationId,
    callId,
    provider,
    apiFamily,
    adapterRevision,
    idempotencyKey,
    toolName: contract.name,
    subject: USER.subject,
    schemaRevision: contract.inputSchema,
    policyRevision: contract.policy,
    digest: digestForCall(call, contract, request, 'boss'),
    expiresAt: T0 + 60,
    approverId: 'boss',
  };
}

export async function codeOfDispatch({ operations }: Own, call = refundCall()): Promise<string> {
  return envelopeCode(await operations.dispatch(USER, call, { approvals: [approvalOf(call)], now: T0 }));
}
