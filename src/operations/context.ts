import type { Clock, FaultPoints } from '../core/index.ts';
import type { ReadTx, Store, Tx } from '../store/index.ts';
import type { PrincipalResolver } from './access.ts';
import type { DownstreamPort } from './downstream.ts';
import type { EvidenceRules } from './evidence.ts';
import type { OperationRecord, OperationTools } from './model.ts';
import type { OperationQueries } from './queries.ts';

/** What changed, for whoever keeps an ordered feed of changes in the same transaction. */
export interface OperationChange {
  readonly kind: 'reserved' | 'leased' | 'succeeded' | 'settled' | 'receipt_kept' | 'answered_otherwise';
  readonly tenant: string;
  readonly statusRef: string;
}

/** The secret fields of the arguments of operations, in their order, for whoever keeps them beside operations. */
export type SecretFieldsOf = (
  tx: ReadTx,
  operations: readonly OperationRecord[],
) => Promise<readonly (readonly string[])[]>;

/** What the use cases share. */
export interface OperationsContext extends EvidenceRules {
  readonly store: Store;
  readonly tools: OperationTools;
  readonly downstream: DownstreamPort | undefined;
  readonly resolvePrincipal: PrincipalResolver | undefined;
  readonly queries: OperationQueries;
  readonly withVerdicts: boolean;
  /** Whether tools come and go, so that the audit proves an operation from its own records where its tool is gone. */
  readonly toolsComeAndGo: boolean;
  /** By which it is measured for how long a worker has had its lease. */
  readonly clock: Clock;
  /** Where a test harness may stop the process; inert otherwise. */
  readonly faults: FaultPoints;
  /** What is struck out of arguments that are shown, beside what the tools of this process name. */
  readonly secretFieldsOf: SecretFieldsOf | undefined;
  readonly onChange: ((tx: Tx, change: OperationChange) => Promise<void>) | undefined;
}
