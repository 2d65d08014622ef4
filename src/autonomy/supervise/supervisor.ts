import { HoldfastError } from '../../core/index.ts';
import {
  followUpKey,
  runTree,
  type RunRecord,
  type Supervised,
  type Supervision,
  type TurnBounds,
} from '../../runs/index.ts';
import { type Principal, requirePen } from '../../sessions/index.ts';
import type { ReadTx, Tx } from '../../store/index.ts';
import { terminateRun } from '../candidates.ts';
import { codeOf } from '../errors.ts';
import { isTerminal } from '../machine.ts';
import type { AutoRun, TerminalStatus } from '../model.ts';
import { bindRepairGroup } from '../repairs.ts';
import { startRun } from '../start-run.ts';
import { requireRun } from '../usable.ts';
import { advise, dropOpenAdvice } from './advice.ts';
import { budgetDocument, goesInCircles, overspent, recordedBudgets, type Reached, type Spent } from './budgets.ts';
import { isCandidate, isUnreadable, readResult, recordResult } from './candidate.ts';
import { alone, type SuperviseContext } from './context.ts';
import { type Next, nextStep } from './next-step.ts';
import { beginRepair, endRepair, isKnownLater, repairRequest } from './repair.ts';
import { beginReview, dropReview, endReview, isReviewOf, openReview } from './review.ts';
import { runsOfTurn, type Standing, standingOf, spentOf, turnsOf } from './standing.ts';
import type { SupervisionTerms } from './terms.ts';

/** What is over, or belongs to somebody else now, is left as it stands. */
const LEFT: ReadonlySet<string> = new Set([
  'AUTO_RUN_ABANDONED',
  'AUTO_RUN_TERMINAL',
  'SESSION_REVERTING',
  'SESSION_QUARANTINED',
  'TICKET_TIMEOUT',
]);

/** What a step meets whose phase somebody else has ended meanwhile. */
const OVERTAKEN: ReadonlySet<string> = new Set(['AUTO_KEY_CONFLICT', 'AUTO_WRONG_PHASE']);

/** A repair has to start from files that can be put back. */
const NO_WORKSPACE = 'repair_needs_workspace';

/** Of advice that a process had begun before the run went on. */
const DECIDED = 'The request was decided before the advice was there.';

const UNBOUNDED: TurnBounds = {
  refusal: null,
  callsLeft: Number.POSITIVE_INFINITY,
  withinMs: Number.POSITIVE_INFINITY,
};

/** A repair that somebody else has ended: what its model would say could not be written down. */
const OVER: TurnBounds = { ...UNBOUNDED, refusal: 'The repair that this run carries out has ended.' };

/**
 * Supervises the runs of agents: reads what they handed over, has it reviewed, repaired within budgets and reviewed
 * again, and says how it ended. It keeps nothing of its own: each step is read from the record and written to it, so
 * that whoever carries a run on after a crash goes on where it stood. It decides no permission and runs no tool.
 */
export class Supervisor implements Supervision {
  readonly #context: SuperviseContext;
  readonly #terms = new Map<string, SupervisionTerms>();

  constructor(context: SuperviseContext) {
    this.#context = context;
  }

  /** From now on the runs of the agent of this name are supervised. */
  supervise(agent: string, terms: SupervisionTerms): void {
    this.#terms.set(agent, terms);
  }

  async begun(tx: Tx, run: Pick<RunRecord, 'runId' | 'agent' | 'principal' | 'place'>): Promise<void> {
    const terms = this.#terms.get(run.agent);
    if (!terms) return;
    const known = await runsOfTurn(tx, run.place);
    const last = known.at(-1);
    if (last && isOpen(last)) return;
    const executionId = known.length === 0 ? run.runId : `${run.runId}.${known.length + 1}`;
    const { rootFrameId, branchId, turnId } = run.place;
    await startRun(tx, this.#context.autonomy, run.principal, {
      runId: `auto-${executionId}`,
      key: `start:${executionId}`,
      rootFrameId,
      branchId,
      turnId,
      executionId,
      mode: terms.mode,
      selection: terms.selection,
      budgets: budgetDocument(terms.budgets),
      ownerInstanceId: this.#context.instanceId,
    });
  }

  async isOpen(tx: ReadTx, _principal: Principal, run: RunRecord): Promise<boolean> {
    const last = (await runsOfTurn(tx, run.place)).at(-1);
    return last !== undefined && isOpen(last);
  }

  async isOver(tx: ReadTx, run: RunRecord): Promise<boolean> {
    const last = (await runsOfTurn(tx, run.place)).at(-1);
    if (last === undefined || !isOpen(last)) return true;
    const { repairs } = await standingOf(tx, last);
    return !repairs.some((one) => one.repair_run_id === followUpKey(run) && one.status === 'started');
  }

  /** In the commit of a reply of a repair: its group is bound before anything stands in it. */
  async groupOpened(tx: Tx, run: RunRecord, groupId: string): Promise<void> {
    const repairRunId = followUpKey(run);
    if (repairRunId === null) return;
    const key = `${repairRunId}:bind:${groupId}`;
    await bindRepairGroup(tx, this.#context.autonomy, run.principal, repairRunId, { actionGroupId: groupId, key });
  }

  async boundsOf(run: RunRecord): Promise<TurnBounds> {
    const repairRunId = followUpKey(run);
    const above = run.parent?.runId;
    if (repairRunId === null || above === undefined) return UNBOUNDED;
    return this.#context.store.read('autonomy.bounds', async (tx) => {
      const auto = (await runsOfTurn(tx, run.place)).at(-1);
      if (!auto || (await this.isOver(tx, run))) return OVER;
      const standing = await standingOf(tx, auto);
      const budgets = recordedBudgets(auto.budgets);
      const spent = await this.#spent(tx, run.principal, above, standing);
      const repair = standing.repairs.find((one) => one.repair_run_id === repairRunId);
      const turns = await turnsOf(tx, run.principal, repair?.execution_group_ids ?? []);
      const callsLeft = budgets.max_extra_cells - spent.cells;
      const used: Reached | null = callsLeft <= 0 ? { stop: 'budget_exhausted', limit: 'max_extra_cells' } : null;
      const reached = overspent(budgets, spent) ?? goesInCircles(budgets, turns) ?? used;
      const withinMs = Math.max(1, budgets.wall_time_s * 1000 - spent.sinceCandidateMs);
      return { refusal: reached && `The repair has reached ${reached.limit} (${reached.stop}).`, callsLeft, withinMs };
    });
  }

  async carryOn(supervised: Supervised): Promise<boolean> {
    if (!this.#concerns(supervised)) return false;
    try {
      while (await this.#oneStep(supervised));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'AUTO_CHECKPOINT_UNFIT') await this.#giveBack(supervised, 'completed_with_issues', NO_WORKSPACE);
      else if (code !== null && isUnreadable(error)) await this.#giveBack(supervised, 'review_unavailable', code);
      else if (!(await this.#isLeft(supervised.run, error))) throw error;
    }
    return true;
  }

  /** A run that was ended elsewhere while its reviewer was asked is left too: it stands as whoever ended it has said. */
  async #isLeft(run: RunRecord, error: unknown): Promise<boolean> {
    if (!(error instanceof HoldfastError)) return false;
    return LEFT.has(error.code) || (OVERTAKEN.has(error.code) && (await this.#standing(run)) === null);
  }

  /** What was begun under supervision is ended with its run, also where the agent is no longer supervised here. */
  #concerns({ run, signal }: Supervised): boolean {
    return this.#terms.has(run.agent) || signal.aborted || run.state.status === 'stopped';
  }

  /** True where something is left to be done at once. */
  async #oneStep(supervised: Supervised): Promise<boolean> {
    const { run, signal } = supervised;
    const terms = this.#terms.get(run.agent);
    const stopped = signal.aborted || run.state.status === 'stopped';
    if (!terms && !stopped) return false;
    const standing = await this.#standing(run);
    if (!standing) return false;
    if (stopped) return this.#stop(run, standing);
    const spent = await this.#context.store.read('autonomy.spent', (tx) =>
      this.#spent(tx, run.principal, run.runId, standing),
    );
    const next = nextStep(run.state, standing, recordedBudgets(standing.run.budgets), spent);
    return terms ? this.#take(supervised, terms, standing, next, spent) : false;
  }

  async #standing(run: RunRecord): Promise<Standing | null> {
    return this.#context.store.read('autonomy.standing', async (tx) => {
      const last = (await runsOfTurn(tx, run.place)).at(-1);
      return last && isOpen(last) ? standingOf(tx, last) : null;
    });
  }

  async #spent(tx: ReadTx, principal: Principal, runId: string, standing: Standing): Promise<Spent> {
    const repairs = new Set(standing.repairs.map((repair) => repair.repair_run_id));
    const tree = await runTree(tx, principal, runId);
    const tokens = (of: (one: RunRecord) => boolean): number =>
      tree.filter(of).reduce((sum, one) => sum + one.promptTokens + one.completionTokens, 0);
    const isRepair = (one: RunRecord): boolean => repairs.has(followUpKey(one) ?? '');
    let cells = 0;
    for (const { execution_group_ids: groups } of standing.repairs)
      for (const turn of await turnsOf(tx, principal, groups)) cells += turn.calls.length;
    return spentOf(standing, {
      now: this.#context.autonomy.sessions.clock.nowMs(),
      authorTokens: tokens((one) => followUpKey(one) === null),
      repairTokens: tokens(isRepair),
      cells,
    });
  }

  async #take(
    supervised: Supervised,
    terms: SupervisionTerms,
    standing: Standing,
    next: Next,
    spent: Spent,
  ): Promise<boolean> {
    const context = this.#context;
    const { run, signal } = supervised;
    const budgets = recordedBudgets(standing.run.budgets);
    const leftMs = budgets.wall_time_s * 1000 - spent.sinceCandidateMs;
    if (next.step !== 'stand' && next.step !== 'carry_on_repair') await dropOpenAdvice(context, run, standing, DECIDED);
    switch (next.step) {
      case 'stand':
        if (terms.permissionReviewer) {
          const how = { signal, timeoutMs: budgets.guardian_timeout_s * 1000 };
          await advise(context, run, standing, terms.permissionReviewer, how);
        }
        return false;
      case 'read':
        return this.#alone(run, standing, async () =>
          recordResult(context, run, standing, await readResult(context, run)),
        );
      case 'review':
        return this.#alone(run, standing, () => this.#review(supervised, terms, standing, leftMs));
      case 'repair':
        return this.#alone(run, standing, (ticketId) => beginRepair(context, run, standing, next.findings, ticketId));
      case 'verify':
        return this.#alone(run, standing, (ticketId) => this.#verify(run, standing, ticketId));
      case 'carry_on_repair':
        return this.#carryOnRepair(supervised, terms, standing, next);
      case 'end':
        await this.#end(run, standing.run, next.status, next.reason, next.stopReason);
        return true;
    }
  }

  /** Takes a step while nobody else writes to the session; what was decided on an older record is decided anew. */
  async #alone(run: RunRecord, decidedOn: Standing, step: (ticketId: string) => Promise<void>): Promise<true> {
    try {
      await alone(this.#context, run, async ({ ticketId }) => {
        const now = await this.#standing(run);
        if (now && now.events.length === decidedOn.events.length) await step(ticketId);
      });
    } catch (error) {
      // Another may have written since: what there is now is looked at again, under the pen.
      if (codeOf(error) !== 'TICKET_LOST') throw error;
    }
    return true;
  }

  /** A review is of what is there: where that is not the candidate any more, it becomes one first. */
  async #review(
    { run, signal }: Supervised,
    { reviewer }: SupervisionTerms,
    standing: Standing,
    leftMs: number,
  ): Promise<void> {
    const context = this.#context;
    const how = { signal, timeoutMs: leftMs };
    const open = openReview(standing.run, standing.reviews);
    if (open && !isReviewOf(open, reviewer)) return dropReview(context, run, open, 'Another reviewer reviews now.');
    if (open) return endReview(context, run, open, reviewer, how);
    const read = await readResult(context, run);
    if (!isCandidate(standing.run, read)) return recordResult(context, run, standing, read);
    await beginReview(context, run, standing, read, reviewer);
    const now = await this.#standing(run);
    const begun = now && openReview(now.run, now.reviews);
    if (begun) await endReview(context, run, begun, reviewer, how);
  }

  async #carryOnRepair(
    { run, signal, followUp }: Supervised,
    terms: SupervisionTerms,
    standing: Standing,
    { repair, findings }: Extract<Next, { step: 'carry_on_repair' }>,
  ): Promise<boolean> {
    const context = this.#context;
    const budgets = recordedBudgets(standing.run.budgets);
    const maxTurns = budgets.repair_turns_per_round;
    const triedMs = context.autonomy.sessions.clock.nowMs();
    const stands = await followUp({ key: repair.repair_run_id, content: repairRequest(findings), maxTurns });
    const now = await this.#standing(run);
    const at = now?.repairs.find((one) => one.repair_run_id === repair.repair_run_id);
    if (!now || at?.status !== 'started') return now !== null;
    const open = stands.state.status === 'waiting_confirmation' || stands.state.status === 'running';
    if (open && !signal.aborted) {
      if (terms.permissionReviewer) {
        const how = { signal, timeoutMs: budgets.guardian_timeout_s * 1000 };
        await advise(context, run, now, terms.permissionReviewer, how);
      }
      return false;
    }
    // Whoever stops a repair means that no other begins in its place.
    if (signal.aborted || stands.state.status === 'stopped') return this.#stop(run, now);
    // Ended now it would be unknown for good: it stands until whoever takes it up can know more.
    if (await isKnownLater(context, stands, at, triedMs)) return false;
    await dropOpenAdvice(context, run, now, DECIDED);
    return this.#endRepair(run, at.repair_run_id);
  }

  /**
   * Ends a repair once nobody carries out its run any more, here or elsewhere, so that what its call came to is written
   * down before. False where it waits for a person: it stands as it does.
   */
  async #endRepair(run: RunRecord, repairRunId: string): Promise<boolean> {
    return alone(this.#context, run, async () => {
      const repairs = (await this.#standing(run))?.repairs ?? [];
      const at = repairs.find((one) => one.repair_run_id === repairRunId && one.status === 'started');
      return at ? endRepair(this.#context, run, at) : true;
    });
  }

  /** Every byte is read once more, and only what was reviewed is marked as verified. */
  async #verify(run: RunRecord, standing: Standing, ticketId: string): Promise<void> {
    const context = this.#context;
    await context.faults.reach('auto-about-to-verify');
    const read = await readResult(context, run);
    if (!isCandidate(standing.run, read)) return recordResult(context, run, standing, read);
    await this.#end(run, standing.run, 'verified', 'independent_review_passed', null, (tx) => requirePen(tx, ticketId));
  }

  /** Ends whatever is open as it is, and the run as cancelled; anew where somebody has carried it on meanwhile. */
  async #stop(run: RunRecord, standing: Standing): Promise<boolean> {
    try {
      return await this.#stopAt(run, standing);
    } catch (error) {
      const code = codeOf(error);
      if (code === null || !(OVERTAKEN.has(code) || code === 'AUTO_PHASE_OPEN')) throw error;
      const now = await this.#standing(run);
      if (now && now.events.length === standing.events.length) throw error;
      return now ? this.#stop(run, now) : false;
    }
  }

  async #stopAt(run: RunRecord, standing: Standing): Promise<boolean> {
    const context = this.#context;
    const why = 'The supervision was stopped.';
    await dropOpenAdvice(context, run, standing, why);
    const review = openReview(standing.run, standing.reviews);
    if (review) await dropReview(context, run, review, why);
    const repair = standing.repairs.find((one) => one.status === 'started');
    if (repair) {
      if (!(await this.#endRepair(run, repair.repair_run_id))) return false;
      const now = await this.#standing(run);
      return now ? this.#stop(run, now) : false;
    }
    await this.#end(run, standing.run, 'cancelled', 'stopped', null);
    return false;
  }

  /** Ends a run of which the next step cannot be taken, with the reason. */
  async #giveBack({ run }: Supervised, status: TerminalStatus, reason: string): Promise<void> {
    const standing = await this.#standing(run);
    if (standing && (standing.run.status === 'running' || standing.run.status === 'candidate'))
      await this.#end(run, standing.run, status, reason, null);
  }

  async #end(
    { principal }: RunRecord,
    { run_id: runId, execution_id }: AutoRun,
    status: TerminalStatus,
    reason: string,
    stopReason: string | null,
    within: (tx: Tx) => Promise<void> = async () => undefined,
  ): Promise<void> {
    const ending = { key: `end:${execution_id}`, status, reason, ...(stopReason === null ? {} : { stopReason }) };
    await this.#context.store.write('autonomy.terminate', async (tx) => {
      await within(tx);
      const now = await requireRun(tx, principal, runId);
      if (!isTerminal(now.status)) await terminateRun(tx, this.#context.autonomy, principal, runId, ending);
    });
    await this.#context.faults.reach('auto-run-ended');
  }
}

const isOpen = (run: AutoRun): boolean => run.finished_at === null && run.abandoned_at === null;
