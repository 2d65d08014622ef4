import { canonicalJson, systemIds, utcText } from '../../src/core/index.ts';
import {
  digestForCall,
  type OperationApproval,
  Operations,
  operationsSchema,
  type OperationTool,
  outputFindings,
  Principal,
  type Receipt,
  requestDigest,
  tableDownstream,
  ToolCall,
} from '../../src/operations/index.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/index.ts';

const NOW = 1_784_419_200;
const WHO = new Principal('bench', 'agent-1');
const APPROVER = 'reviewer-1';

const tool: OperationTool = {
  contract: {
    name: 'send_note',
    inputSchema: 'send-note-input-v1',
    outputSchema: 'send-note-output-v1',
    effect: 'send-note-v1',
    handler: 'send-note-handler-v1',
    producer: 'notes-v1',
    policy: 'send-note-policy-v1',
  },
  effect: 'idempotent',
  producerLabel: 'notes',
  outputLimits: { maxBytes: 1_024, maxDepth: 2 },
  outputFields: ['note_id', 'to'],
  settlesWithinSeconds: 60,
  checkArguments: (input) => (typeof input['to'] === 'string' && typeof input['text'] === 'string' ? [] : ['to, text']),
  checkOutput: (output, input) =>
    typeof output === 'object' && output !== null && 'to' in output && output.to === input['to'] ? [] : ['to'],
  authorize: () => true,
  precondition: () => true,
};

/** Operations on a file of their own, with one tool and one reviewer. */
export class DispatchWork {
  readonly store: SqliteStore;
  readonly operations: Operations;

  constructor(store: SqliteStore) {
    this.store = store;
    this.operations = new Operations({
      store,
      tools: { current: (name) => (name === tool.contract.name ? tool : undefined) },
      isApprover: (approverId) => approverId === APPROVER,
      downstream: tableDownstream(store, ({ effectIdentity, input }) => ({
        receiptId: `receipt-${effectIdentity.slice(0, 32)}`,
        downstreamRequestId: `request-${effectIdentity.slice(0, 32)}`,
        resourceRevision: 'r1',
        data: { note_id: effectIdentity.slice(0, 16), to: input['to'] ?? null },
      })),
    });
  }

  static async open(file: string): Promise<DispatchWork> {
    return new DispatchWork(await openSqliteStore({ file, schemas: [operationsSchema] }));
  }

  /** A new intent under a generated key, and a person's approval of exactly it. */
  #proposal(): { readonly call: ToolCall; readonly approval: OperationApproval } {
    const id = systemIds.next();
    const call = new ToolCall({
      callId: `call-${id}`,
      operationId: `operation-${id}`,
      name: tool.contract.name,
      arguments: { to: `customer-${id}`, text: 'Your order is on its way.' },
      idempotencyKey: id,
      provider: 'openai',
      apiFamily: 'responses',
      responseId: `response-${id}`,
      adapterRevision: 'openai-responses-v1',
    });
    const digest = digestForCall(call, tool.contract, requestDigest(WHO, tool.contract, call.arguments), APPROVER);
    const { callId, operationId, provider, apiFamily, adapterRevision, idempotencyKey, name } = call;
    return {
      call,
      approval: {
        approvalId: `approval-${id}`,
        operationId,
        callId,
        provider,
        apiFamily,
        adapterRevision,
        idempotencyKey,
        toolName: name,
        subject: WHO.subject,
        schemaRevision: tool.contract.inputSchema,
        policyRevision: tool.contract.policy,
        digest,
        expiresAt: NOW + 60,
        approverId: APPROVER,
      },
    };
  }

  /** A full dispatch as a call is carried out in the composed system: everything checked, two commits. */
  async inTwoCommits(): Promise<void> {
    const { call, approval } = this.#proposal();
    const admission = await this.operations.admit(WHO, call, NOW);
    if (admission.kind === 'refused') throw new Error(admission.code);
    const { request } = admission;
    const lease = { workerId: 'bench', seconds: 30 };
    const terms = { approvals: [approval], rule: { holds: true }, now: NOW, lease };
    const reserved = await this.store.write('begin', (tx) => this.operations.reserve(tx, request, terms));
    if (reserved.kind !== 'reserved') throw new Error(reserved.kind);
    const data = { note_id: request.statusRef.slice(7, 23), to: call.arguments['to'] ?? null };
    const checked: Receipt = {
      receiptId: `receipt-${systemIds.next()}`,
      downstreamRequestId: `request-${systemIds.next()}`,
      resultJson: canonicalJson(data),
      producerRevision: tool.contract.producer,
      resourceRevision: 'r1',
      observedAt: utcText(NOW),
    };
    if ((await outputFindings(tool, call.arguments, { ...checked, data })).length > 0) throw new Error('output');
    const { operation: reservedOperation } = reserved;
    const recording = {
      statusRef: request.statusRef,
      expected: request,
      checked,
      keepChecked: true,
      reserved: reservedOperation,
      now: NOW,
    };
    const recorded = await this.store.write('finish', (tx) => this.operations.record(tx, recording));
    if (recorded.kind !== 'succeeded') throw new Error(recorded.kind);
  }

  /** The same at the door of operations alone, with all of the contracts' commit points. */
  async atTheDoor(): Promise<void> {
    const { call, approval } = this.#proposal();
    const result = await this.operations.dispatch(WHO, call, { approvals: [approval], now: NOW });
    if (result.model_result.status !== 'succeeded') throw new Error(result.model_result.status);
  }

  /** Stores so many finished operations. */
  async fill(operations: number): Promise<void> {
    const callers = 500;
    for (let left = operations; left > 0; left -= callers)
      await Promise.all(Array.from({ length: Math.min(left, callers) }, () => this.inTwoCommits()));
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
