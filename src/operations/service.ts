import { type Clock, type FaultPoints, noFaults, systemClock } from '../core/index.ts';
import type { ReadTx, Store, Tx } from '../store/index.ts';
import type { PrincipalResolver } from './access.ts';
import { type Admission, admitCall, contractOf } from './admission.ts';
import type { ApproverCheck } from './approval.ts';
import { auditDatabase, countRows, type OperationCounts, type OperationsAudit } from './audit.ts';
import { DEFAULT_LEASE_SECONDS } from './bounds.ts';
import type { OperationChange, OperationsContext, SecretFieldsOf } from './context.ts';
import { askRule, dispatch, type DispatchOptions } from './dispatch.ts';
import type { DownstreamPort } from './downstream.ts';
import { errorEnvelope, type ResultEnvelope } from './envelope.ts';
import type { OutcomeCode } from './error-catalogue.ts';
import { envelopeFindings, revisionsNamed } from './envelope-check.ts';
import { type ExpectedRequest, sameRevisions } from './evidence.ts';
import { type LeaseAnswer, leaseProved, type LeaseTerms } from './lease.ts';
import {
  type ListOptions,
  listOperations,
  type OperationPage,
  type OperationView,
  operationUnderKey,
  showOperation,
  storedOperation,
} from './listing.ts';
import { requireRecord } from './host-context.ts';
import {
  type Lease,
  type OperationRecord,
  type OperationTools,
  type Principal,
  type ProcessOutcome,
  PROVIDER_PROFILES,
  type ProviderProfile,
  type Scope,
  type ToolCall,
  type Verdict,
} from './model.ts';
import { processOperation, type ProcessOptions, takeLease } from './process.ts';
import { operationQueries } from './queries.ts';
import { type ReceiptIds, record, type RecordAnswer, type RecordTerms, takenIds } from './record.ts';
import type { PreparedRequest } from './request.ts';
import { reserve, type Reservation, type ReserveTerms, type RuleAnswer } from './reserve.ts';
import { answerSucceeded } from './results.ts';
import type { WholeOperation } from './rows.ts';
import { isOver, type PersonVerdict, settle, settleByPerson } from './settle.ts';
import { queryStatus, type StatusQuery } from './status.ts';
import { findUnresolvedTwin, type UnresolvedApproved, unresolvedApproved } from './twins.ts';

export interface OperationsOptions {
  readonly store: Store;
  readonly tools: OperationTools;
  /** Who may approve, judged as it was at the second of the approval. Nobody unless told. */
  readonly isApprover?: ApproverCheck;
  /** Who a presented principal is now; without it nobody has a role. */
  readonly resolvePrincipal?: PrincipalResolver;
  /** The other side. Without it this process can record and query what is stored, but not deliver. */
  readonly downstream?: DownstreamPort;
  readonly profiles?: readonly ProviderProfile[];
  /** Whether the store also has the verdict tables (`operationVerdictsSchema`). */
  readonly verdicts?: boolean;
  /**
   * Whether tools come and go, as those of other servers do: the audit then proves an operation whose tool is not known
   * as it was from its own records, and counts it under `without_their_tool`. Else such an operation is an error.
   */
  readonly toolsComeAndGo?: boolean;
  /** By which it is measured for how long a worker has had its lease. Default: the machine's. */
  readonly clock?: Clock;
  /** Fault points between commits, for test harnesses. */
  readonly faults?: FaultPoints;
  /**
   * Names more fields of arguments as secret than the tools of this process do (`forbiddenOutputNames`), where operations
   * are listed and shown: those are struck out. Asked in the same snapshot.
   */
  readonly secretFieldsOf?: SecretFieldsOf;
  /** Called in the same transaction as each change, for an ordered feed. */
  readonly onChange?: (tx: Tx, change: OperationChange) => Promise<void>;
}

/**
 * The operations of one store: at most once per (tenant, subject, tool, key), and honest when nobody can know.
 *
 * `dispatch`, `process`, `takeLease`, `queryStatus`, `settleByPerson` commit for themselves, at the contracts' commit
 * points. `reserve`, `lease`, `record`, `settle` take a transaction, so that others can put them into one commit with
 * their own writes. Times are whole seconds since 1970, always given; a clock only tells for how long a worker has had
 * its lease.
 */
export class Operations {
  readonly #context: OperationsContext;

  constructor(options: OperationsOptions) {
    const withVerdicts = options.verdicts ?? false;
    this.#context = {
      store: options.store,
      tools: options.tools,
      isApprover: options.isApprover ?? (() => false),
      resolvePrincipal: options.resolvePrincipal,
      downstream: options.downstream,
      profiles: options.profiles ?? PROVIDER_PROFILES,
      queries: operationQueries(withVerdicts),
      withVerdicts,
      toolsComeAndGo: options.toolsComeAndGo ?? false,
      clock: options.clock ?? systemClock,
      faults: options.faults ?? noFaults,
      secretFieldsOf: options.secretFieldsOf,
      onChange: options.onChange,
    };
  }

  /** Accepts an intent and carries it out, or says why not. See `dispatch.ts` for the order of checks. */
  dispatch(principal: Principal, call: ToolCall, options: DispatchOptions): Promise<ResultEnvelope> {
    return dispatch(this.#context, principal, call, options);
  }

  /** One worker's step on a stored operation. */
  process(statusRef: string, options: ProcessOptions): Promise<ProcessOutcome> {
    return processOperation(this.#context, statusRef, options);
  }

  /** A lease of its own commit, or null where none is to be had. */
  async takeLease(
    statusRef: string,
    terms: { readonly workerId: string; readonly now: number; readonly leaseSeconds?: number },
  ): Promise<Lease | null> {
    requireRecord('terms', terms);
    const leaseSeconds = terms.leaseSeconds ?? DEFAULT_LEASE_SECONDS;
    const answer = await takeLease(this.#context, statusRef, { ...terms, leaseSeconds });
    return answer.kind === 'leased' ? answer.lease : null;
  }

  /** Asks what became of an operation; a receipt that is found finishes it. */
  queryStatus(principal: Principal, call: ToolCall, query: StatusQuery): Promise<ResultEnvelope> {
    return queryStatus(this.#context, principal, call, query);
  }

  /** Records a person's verdict on an operation of their tenant whose outcome is not known. Final. */
  settleByPerson(person: Principal, statusRef: string, said: PersonVerdict): Promise<void> {
    return settleByPerson(this.#context, person, statusRef, said);
  }

  /** Checks everything stored, in one snapshot; reports and never throws for bad content. */
  audit(): Promise<OperationsAudit> {
    return auditDatabase(this.#context);
  }

  counts(): Promise<OperationCounts> {
    return this.#context.store.read('operations.counts', countRows);
  }

  /** A tenant's operations, newest first. */
  list(principal: Principal, options: ListOptions): Promise<OperationPage> {
    return listOperations(this.#context, principal, options);
  }

  /** Everything stored about one operation of a tenant; OPERATION_NOT_FOUND where there is none or it is another's. */
  stored(principal: Principal, statusRef: string): Promise<WholeOperation> {
    return storedOperation(this.#context, principal, statusRef);
  }

  /** The operation that a principal's key stands for with this tool; null where it stands for none. */
  underKey(scope: Scope): Promise<OperationRecord | null> {
    return operationUnderKey(this.#context, scope);
  }

  /** One operation of a tenant; OPERATION_NOT_FOUND where there is none or it is another's. */
  show(principal: Principal, statusRef: string, now: number): Promise<OperationView> {
    return showOperation(this.#context, principal, statusRef, now);
  }

  /**
   * Everything that is wrong with an answer for this call of this principal; empty when it is whole. An answer under a
   * retired contract is judged by that one, where the registry keeps it.
   */
  async validate(envelope: unknown, principal: Principal, call: ToolCall): Promise<readonly string[]> {
    requireRecord('call', call);
    const { profiles, tools } = this.#context;
    const current = tools.current(call.name);
    const named = revisionsNamed(envelope);
    const isCurrent = !named || !current || sameRevisions(named, current.contract);
    const tool = isCurrent ? current : (tools.retired?.(call.name, named) ?? current);
    return envelopeFindings(envelope, { principal, call, tool, profiles });
  }

  /** Host context, tool, arguments, current access and key, checked in that order; nothing is stored. */
  admit(principal: Principal, call: ToolCall, now: number): Promise<Admission> {
    return admitCall(this.#context, principal, call, now, 'dispatch');
  }

  /** The business rule's answer for an admitted request, asked before its transaction. */
  askRule(request: PreparedRequest, current: Principal): Promise<RuleAnswer> {
    return askRule(request, current);
  }

  /** Accepts an intent in this transaction, with its first lease where `terms.lease` is given. */
  reserve(tx: Tx, request: PreparedRequest, terms: ReserveTerms): Promise<Reservation> {
    return reserve(tx, this.#context, request, terms);
  }

  /** Takes a lease in this transaction; OPERATION_RECORD_BROKEN where the stored operation does not fit itself. */
  lease(tx: Tx, statusRef: string, terms: LeaseTerms): Promise<LeaseAnswer> {
    return leaseProved(tx, this.#context, statusRef, terms);
  }

  /** Writes both receipts and finishes the operation and its outbox row in this transaction. */
  record(tx: Tx, terms: RecordTerms): Promise<RecordAnswer> {
    return record(tx, this.#context, terms);
  }

  /** Which ids of a receipt another operation has: one record of the other side can stand for several. */
  takenIds(tx: ReadTx, scope: Scope, ids: ReceiptIds): Promise<Readonly<Record<keyof ReceiptIds, boolean>>> {
    return takenIds(tx, scope, ids);
  }

  /** Records a verdict in this transaction. */
  settle(tx: Tx, statusRef: string, tenant: string, verdict: Verdict, ofDelivery?: number): Promise<void> {
    return settle(tx, this.#context, statusRef, tenant, verdict, ofDelivery);
  }

  /** Whether an operation has its receipt or its verdict, as this transaction sees it. */
  isOver(tx: ReadTx, statusRef: string): Promise<boolean> {
    return isOver(tx, this.#context, statusRef);
  }

  /** The unresolved operation of the same tool and arguments under another key, or null. Needs the verdict tables. */
  findUnresolvedTwin(tx: ReadTx, request: ExpectedRequest): Promise<string | null> {
    return findUnresolvedTwin(tx, request);
  }

  /** The unresolved operations of the same tool under other keys that a request was approved for, the newest first. */
  unresolvedApproved(tx: ReadTx, request: ExpectedRequest): Promise<readonly UnresolvedApproved[]> {
    return unresolvedApproved(tx, request);
  }

  /** The answer of an operation that is finished, read from its receipt and checked again. */
  answerSucceeded(
    request: PreparedRequest,
    statusRef: string,
    delivery: 'fresh' | 'local_replay' | 'receipt_reconciled',
  ): Promise<ResultEnvelope> {
    return answerSucceeded(this.#context, request, statusRef, delivery);
  }

  /** The answer of a call that was refused, or whose outcome is not known. */
  answerError(
    code: OutcomeCode,
    principal: Principal,
    call: ToolCall,
    now: number,
    statusRef: string | null = null,
  ): ResultEnvelope {
    return errorEnvelope(code, principal, call, contractOf(this.#context, call.name), now, statusRef);
  }
}
