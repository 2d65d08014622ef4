import type { JsonObject } from '../core/index.ts';
import {
  type Principal,
  requireCheckpoint,
  requireSession,
  requireThatSession,
  type SessionContext,
} from '../sessions/index.ts';
import type { Store } from '../store/index.ts';
import * as assessments from './assessments.ts';
import { type AuditQuery, listAudits } from './audits.ts';
import * as candidates from './candidates.ts';
import { autonomyContext, type AutonomyContext, type AutonomyProofs, type TreeCheck } from './context.ts';
import { codeOf } from './errors.ts';
import { eventsOfRoot, rootCursor } from './events.ts';
import { type AutoExport, exportProjection } from './export.ts';
import type { AutoEvent, RunProjection, RunTransition } from './model.ts';
import { auditRuns, type RunAudit } from './audit-runs.ts';
import { checkSessionHead, type HeadProblem, type SessionHead, sessionHead } from './head.ts';
import { projectRun } from './projection.ts';
import * as sql from './queries.ts';
import { completeRepair, type RepairEnding } from './repair-completion.ts';
import * as repairs from './repairs.ts';
import * as reviews from './reviews.ts';
import { runsOfTurn, type SupervisionView, supervisionView, type TurnPlace } from './supervise/standing.ts';
import { type NewAutoRun, startRun } from './start-run.ts';
import { sweepRuns, type SweptRuns } from './sweep.ts';
import { requireRun } from './usable.ts';

export interface AutonomyOptions {
  readonly store: Store;
  readonly sessions: SessionContext;
  /** Whether a workspace tree can be restored whole. */
  readonly trees: TreeCheck;
  readonly proofs?: Partial<AutonomyProofs>;
}

/** A repair as a caller starts it; whether its checkpoint can be restored is looked up here. */
export type RepairStart = Omit<repairs.NewRepair, 'restorableTreeId'>;

/**
 * The durable record of supervised work: what was proposed, what an independent reviewer said, what a repair did, what a
 * permission reviewer advised, how it ended. It calls no model, runs no tool and decides no permission. Each step is one
 * transaction that writes its owner and one event, told once per idempotency key; each read proves them against each
 * other again. Every method answers for the principal's tenant only. Refusals are those of the functions of the same name.
 */
export class Autonomy {
  readonly #store: Store;
  readonly #context: AutonomyContext;
  readonly #trees: TreeCheck;

  constructor({ store, sessions, trees, proofs }: AutonomyOptions) {
    this.#store = store;
    this.#trees = trees;
    this.#context = autonomyContext(sessions, proofs);
  }

  startRun(principal: Principal, run: NewAutoRun): Promise<RunTransition> {
    return this.#store.write('autonomy.start', (tx) => startRun(tx, this.#context, principal, run));
  }

  recordCandidate(principal: Principal, runId: string, candidate: candidates.NewCandidate): Promise<RunTransition> {
    return this.#store.write('autonomy.candidate', (tx) =>
      candidates.recordCandidate(tx, this.#context, principal, runId, candidate),
    );
  }

  startReview(principal: Principal, runId: string, review: reviews.NewReview): Promise<reviews.ReviewTransition> {
    return this.#store.write('autonomy.review.start', (tx) =>
      reviews.startReview(tx, this.#context, principal, runId, review),
    );
  }

  completeReview(
    principal: Principal,
    reviewRunId: string,
    ending: reviews.ReviewEnding,
  ): Promise<reviews.ReviewTransition> {
    return this.#store.write('autonomy.review.complete', (tx) =>
      reviews.completeReview(tx, this.#context, principal, reviewRunId, ending),
    );
  }

  startAssessment(
    principal: Principal,
    runId: string,
    assessment: assessments.NewAssessment,
  ): Promise<assessments.AssessmentTransition> {
    return this.#store.write('autonomy.assessment.start', (tx) =>
      assessments.startAssessment(tx, this.#context, principal, runId, assessment),
    );
  }

  completeAssessment(
    principal: Principal,
    assessmentId: string,
    ending: assessments.AssessmentEnding,
  ): Promise<assessments.AssessmentTransition> {
    return this.#store.write('autonomy.assessment.complete', (tx) =>
      assessments.completeAssessment(tx, this.#context, principal, assessmentId, ending),
    );
  }

  /** Reads the checkpoint's workspace whole first, outside the transaction. */
  async startRepair(principal: Principal, runId: string, repair: RepairStart): Promise<repairs.RepairTransition> {
    const restorableTreeId = await this.#restorableTree(principal, runId, repair.checkpointId);
    return this.#store.write('autonomy.repair.start', (tx) =>
      repairs.startRepair(tx, this.#context, principal, runId, { ...repair, restorableTreeId }),
    );
  }

  async #restorableTree(principal: Principal, runId: string, checkpointId: string): Promise<string | null> {
    try {
      const checkpoint = await this.#store.read('autonomy.checkpoint', async (tx) => {
        const run = await requireRun(tx, principal, runId);
        return requireCheckpoint(tx, principal, run.root_frame_id, checkpointId);
      });
      const tree = checkpoint.workspaceTreeId;
      return tree !== null && (await this.#trees(tree)) ? tree : null;
    } catch (error) {
      // What is wrong is said by the step itself, in its order.
      if (codeOf(error) === null) throw error;
      return null;
    }
  }

  bindRepairGroup(
    principal: Principal,
    repairRunId: string,
    group: { readonly actionGroupId: string; readonly key: string },
  ): Promise<repairs.BindingTransition> {
    return this.#store.write('autonomy.repair.bind', (tx) =>
      repairs.bindRepairGroup(tx, this.#context, principal, repairRunId, group),
    );
  }

  completeRepair(principal: Principal, repairRunId: string, ending: RepairEnding): Promise<repairs.RepairTransition> {
    return this.#store.write('autonomy.repair.complete', (tx) =>
      completeRepair(tx, this.#context, principal, repairRunId, ending),
    );
  }

  terminateRun(principal: Principal, runId: string, ending: candidates.RunEnding): Promise<RunTransition> {
    return this.#store.write('autonomy.terminate', (tx) =>
      candidates.terminateRun(tx, this.#context, principal, runId, ending),
    );
  }

  project(principal: Principal, rootFrameId: string, branchId: string): Promise<RunProjection> {
    return this.#store.read('autonomy.project', (tx) =>
      projectRun(tx, this.#context, principal, rootFrameId, branchId),
    );
  }

  audits(principal: Principal, query: AuditQuery): Promise<JsonObject[]> {
    return this.#store.read('autonomy.audits', (tx) => listAudits(tx, this.#context, principal, query));
  }

  /** How the newest supervision of a turn stands, proved whole; null where there is none. SESSION_NOT_FOUND. */
  supervisionOf(principal: Principal, place: TurnPlace): Promise<SupervisionView | null> {
    return this.#store.read('autonomy.supervision', async (tx) => {
      await requireSession(tx, principal, place.rootFrameId);
      const run = (await runsOfTurn(tx, place)).at(-1);
      return run ? supervisionView(tx, this.#context, principal, run) : null;
    });
  }

  /** The turns of the principal's tenant whose supervision has not ended. */
  async openPlaces({ tenant }: Principal): Promise<readonly TurnPlace[]> {
    const rows = await this.#store.read('autonomy.open-places', (tx) => tx.all(sql.OPEN_PLACES, [tenant]));
    return rows.map((row) => ({
      rootFrameId: String(row['root_frame_id']),
      branchId: String(row['branch_id']),
      turnId: String(row['turn_id']),
    }));
  }

  /** What a session is now, as a head states it. SESSION_NOT_FOUND. */
  sessionHead(principal: Principal, rootFrameId: string): Promise<SessionHead> {
    return this.#store.read('autonomy.head', async (tx) => {
      await requireThatSession(tx, principal, rootFrameId);
      return sessionHead(tx, rootFrameId);
    });
  }

  /** Where a session is not as a head says; a session that is gone is a problem too. Changes nothing. */
  checkHead(principal: Principal, head: SessionHead): Promise<readonly HeadProblem[]> {
    return this.#store.read('autonomy.head', async (tx) => {
      try {
        await requireThatSession(tx, principal, head.rootFrameId);
      } catch (error) {
        if (codeOf(error) !== 'SESSION_NOT_FOUND') throw error;
        return [{ rootFrameId: head.rootFrameId, what: 'session', problem: 'missing', reference: null }];
      }
      return checkSessionHead(tx, head);
    });
  }

  /** Proves every supervised run of a session that began here; those of which a proof fails, with the proof's words. */
  auditRuns(principal: Principal, rootFrameId: string): Promise<RunAudit> {
    return this.#store.read('autonomy.audit', async (tx) => {
      await requireThatSession(tx, principal, rootFrameId);
      return auditRuns(tx, this.#context, principal, rootFrameId);
    });
  }

  /** Every event of a session in cursor order; of each only its own digest is checked. */
  events(principal: Principal, rootFrameId: string): Promise<AutoEvent[]> {
    return this.#store.read('autonomy.events', async (tx) => {
      await requireSession(tx, principal, rootFrameId);
      return eventsOfRoot(tx, rootFrameId);
    });
  }

  /** The highest cursor of a session, 0 when there is none. */
  eventCursor(principal: Principal, rootFrameId: string): Promise<number> {
    return this.#store.read('autonomy.cursor', async (tx) => {
      await requireSession(tx, principal, rootFrameId);
      return rootCursor(tx, rootFrameId);
    });
  }

  exportProjection(principal: Principal, rootFrameId: string, branchId?: string): Promise<AutoExport> {
    return this.#store.read('autonomy.export', (tx) =>
      exportProjection(tx, this.#context, principal, rootFrameId, branchId),
    );
  }

  /** After a start: closes what dead processes have left open. */
  sweep(...ownInstanceIds: readonly string[]): Promise<SweptRuns> {
    return sweepRuns(this.#store, this.#context, ownInstanceIds);
  }
}
