import type { ApproverRule, PolicySet } from '../approvals/index.ts';
import type { Clock, FaultPoints, Telemetry } from '../core/index.ts';
import type { Operations } from '../operations/index.ts';
import type { Principal, SessionContext } from '../sessions/index.ts';
import type { ReadTx, Store } from '../store/index.ts';
import type { ToolRegistry } from '../tools/index.ts';

/** What the functions of this room need of the world; made once, in the composition root. */
export interface CallsContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly sessions: SessionContext;
  readonly operations: Operations;
  readonly tools: ToolRegistry;
  readonly policies: PolicySet;
  /** Who is asked where a call has to wait for a person. */
  readonly approver: ApproverRule;
  /** How long a permission request waits before it times out; null: for ever. Milliseconds. */
  readonly approvalExpiresMs: number | null;
  /** Names this process in leases. */
  readonly workerId: string;
  /** Why an operator has paused the data folder, so that no write starts; null where nobody has. */
  readonly pausedBecause: (tx: ReadTx) => Promise<string | null>;
  /** A principal with the roles it has now, null for one that is gone; asked before a tool's `authorize` is. */
  readonly principalNow: (principal: Principal) => Promise<Principal | null>;
  readonly faults: FaultPoints;
  readonly telemetry: Telemetry;
}
