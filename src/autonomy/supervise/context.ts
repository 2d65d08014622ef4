import type { Approvals } from '../../approvals/index.ts';
import type { FaultPoints } from '../../core/index.ts';
import type { RunRecord } from '../../runs/index.ts';
import type { Principal, SessionHistory, SessionPen, SessionTicket } from '../../sessions/index.ts';
import type { Store } from '../../store/index.ts';
import type { ToolRegistry } from '../../tools/index.ts';
import type { AutonomyContext, TreeCheck } from '../context.ts';

/** What supervision needs of the world; made once, in the composition root. */
export interface SuperviseContext {
  readonly store: Store;
  readonly autonomy: AutonomyContext;
  readonly approvals: Approvals;
  readonly history: SessionHistory;
  readonly pen: SessionPen;
  /** The folder that a session works in, or null. */
  readonly directoryOf: (rootFrameId: string) => Promise<string | null>;
  readonly trees: TreeCheck;
  readonly tools: ToolRegistry;
  /** Whether more of an unknown call, last tried since that time, may be known later without anybody's word. */
  readonly isKnownLater: (principal: Principal, statusRef: string, triedMs: number) => Promise<boolean>;
  /** This process in `instances`. */
  readonly instanceId: string;
  readonly faults: FaultPoints;
}

/** What a step that changes nothing else needs: the run it is about. */
export type AuthorRun = Pick<RunRecord, 'runId' | 'principal' | 'place' | 'task'>;

const PEN = { leaseMs: 10_000, waitMs: 20_000 } as const;

/**
 * One step with nobody else writing to the session: what it reads is still so when it writes, as long as the pen is with
 * its ticket (`requirePen`). TICKET_TIMEOUT.
 */
export function alone<T>(
  context: SuperviseContext,
  run: AuthorRun,
  body: (ticket: SessionTicket) => Promise<T>,
): Promise<T> {
  const how = { ...PEN, owner: context.instanceId, reason: 'supervision' };
  return context.pen.hold(run.principal, run.place.rootFrameId, how, body);
}
