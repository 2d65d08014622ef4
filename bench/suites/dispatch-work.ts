import { canonicalJson, systemIds, utcText } from '../../src/core/index.ts';
import {
  digestForCall,
  type OperationApproval,
  Operations,
  operationsSchema,
  operationVerdictsSchema,
  type OperationTool,
  outputFindings,
  Principal,
  type Receipt,
  requestDigest,
  tableDownstream,
  ToolCall,
} from '../../src/operations/index.ts';
import type { Row, RunResult, Sql, SqlParams, Tx } from '../../src/store/index.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/index.ts';
import { PlainLedger, type Step } from './ledger.ts';

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

/** The statements of one dispatch: those of its first commit, and those of its second. */
export interface RecordedDispatch {
  readonly begin: Step[];
  readonly finish: Step[];
}

const textOf = (sql: Sql): string => (typeof sql === 'string' ? sql : sql.text);

/** Passes statements on and writes them down. */
class RecordingTx implements Tx {
  readonly #tx: Tx;
  readonly #to: Step[];

  constructor(tx: Tx, to: Step[]) {
    this.#tx = tx;
    this.#to = to;
  }

  run(sql: Sql, params: SqlParams = []): Promise<RunResult> {
    this.#to.push(['run', textOf(sql), params]);
    return this.#tx.run(sql, params);
  }

  get<R extends Row = Row>(sql: Sql, params: SqlParams = []): Promise<R | undefined> {
    this.#to.push(['get', textOf(sql), params]);
    return this.#tx.get<R>(sql, params);
  }

  all<R extends Row = Row>(sql: Sql, params: SqlParams = []): Promise<R[]> {
    this.#to.push(['get', textOf(sql), params]);
    return this.#tx.all<R>(sql, params);
  }
}

/** Operations as the composed system keeps them, on a file of their own, with one tool and one reviewer. */
export class DispatchWork {
  readonly store: SqliteStore;
  readonly operations: Operations;

  constructor(store: SqliteStore) {
    this.store = store;
    this.operations = new Operations({
      store,
      verdicts: true,
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
    return new DispatchWork(await openSqliteStore({ file, schemas: [operationsSchema, operationVerdictsSchema] }));
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
  async inTwoCommits(written?: RecordedDispatch): Promise<void> {
    const seen = (tx: Tx, half: 'begin' | 'finish') => (written ? new RecordingTx(tx, written[half]) : tx);
    const { call, approval } = this.#proposal();
    const admission = await this.operations.admit(WHO, call, NOW);
    if (admission.kind === 'refused') throw new Error(admission.code);
    const { request } = admission;
    const lease = { workerId: 'bench', seconds: 30 };
    const terms = { approvals: [approval], rule: { holds: true }, now: NOW, lease };
    const reserved = await this.store.write('begin', (tx) =>
      this.operations.reserve(seen(tx, 'begin'), request, terms),
    );
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
    const recorded = await this.store.write('finish', (tx) => this.operations.record(seen(tx, 'finish'), recording));
    if (recorded.kind !== 'succeeded') throw new Error(recorded.kind);
  }

  /** The same at the door of operations alone, with all of the contracts' commit points. */
  async atTheDoor(): Promise<void> {
    const { call, approval } = this.#proposal();
    const result = await this.operations.dispatch(WHO, call, { approvals: [approval], now: NOW });
    if (result.model_result.status !== 'succeeded') throw new Error(result.model_result.status);
  }

  /** The statements of so many dispatches, in the order of the dispatches. */
  async recorded(dispatches: number): Promise<RecordedDispatch[]> {
    const all: RecordedDispatch[] = [];
    for (let i = 0; i < dispatches; i += 1) all.push({ begin: [], finish: [] });
    const batch = 256;
    for (let at = 0; at < dispatches; at += batch)
      await Promise.all(all.slice(at, at + batch).map((one) => this.inTwoCommits(one)));
    return all;
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

/** The statements of dispatches, as Holdfast ran them, again in plain synchronous code: each run is taken once. */
export class PlainDispatches {
  readonly #ledger: PlainLedger;
  readonly #recorded: RecordedDispatch[];

  private constructor(ledger: PlainLedger, recorded: RecordedDispatch[]) {
    this.#ledger = ledger;
    this.#recorded = recorded;
  }

  /** Records so many dispatches at `file`, and makes the same tables anew beside it for them to be run again. */
  static async open(file: string, dispatches: number): Promise<PlainDispatches> {
    const work = await DispatchWork.open(`${file}-recorded.db`);
    const recorded = await work.recorded(dispatches);
    await work.close();
    await (await DispatchWork.open(file)).close();
    return new PlainDispatches(new PlainLedger(file, ''), recorded.reverse());
  }

  /** So many dispatches, in two commits together. */
  group(dispatches: number): void {
    const taken = Array.from({ length: dispatches }, () => this.#recorded.pop() ?? { begin: [], finish: [] });
    this.#ledger.group(taken.map(({ begin }) => begin));
    this.#ledger.group(taken.map(({ finish }) => finish));
  }

  close(): void {
    this.#ledger.close();
  }
}
