import { fail } from '../core/index.ts';
import type { CarriedRuns, RunHandle } from './carried-runs.ts';
import { comingBack } from './come-back.ts';
import type { Agent, Driving, RunListener, RunsContext } from './context.ts';
import { beginFollowUp, isFollowUp } from './follow-up.ts';
import type { RunRecord } from './model.ts';
import { requireRun } from './run-store.ts';
import type { FollowUp } from './supervision.ts';

/** Between runs and whoever supervises them: follow-ups are begun and carried on here, as any run is. */
export class SupervisedRuns {
  readonly #context: RunsContext;
  readonly #carried: CarriedRuns;
  readonly #takeUp: (run: RunRecord, listener: RunListener, adopt: boolean) => Promise<RunHandle | null>;

  constructor(
    context: RunsContext,
    carried: CarriedRuns,
    takeUp: (run: RunRecord, listener: RunListener, adopt: boolean) => Promise<RunHandle | null>,
  ) {
    this.#context = context;
    this.#carried = carried;
    this.#takeUp = takeUp;
  }

  /** Whether a run has ended by itself and its supervision has not. */
  async isOpen(run: RunRecord): Promise<boolean> {
    return run.state.status === 'completed' && this.#isOpen(run);
  }

  async #isOpen(run: RunRecord): Promise<boolean> {
    const { supervision, calls } = this.#context;
    if (!supervision || run.parent) return false;
    return calls.store.read('runs.supervised', (tx) => supervision.isOpen(tx, run.principal, run));
  }

  /** RUN_ENDED for a follow-up of which the supervision has ended: what it would do belongs to nothing any more. */
  async requireOpen(run: RunRecord): Promise<void> {
    const { supervision, calls } = this.#context;
    if (!supervision || !isFollowUp(run)) return;
    if (await calls.store.read('runs.supervised', (tx) => supervision.isOver(tx, run)))
      throw fail('RUN_ENDED', 'The supervision that this run was begun under has ended.');
  }

  /** What is done about a run of its own once its own turns are over, or wait; false where nothing is. */
  async carryOn(driving: Driving): Promise<boolean> {
    const { run, agent, signal } = driving;
    const { supervision } = this.#context;
    if (run.parent || !supervision) return false;
    const followUp = (asked: FollowUp): Promise<RunRecord> => this.#followUp(driving, asked);
    return supervision.carryOn({ run, agent, signal, followUp });
  }

  /** A run that nobody carries out any more has its supervision ended too, as a run that is stopped has. */
  async stop(run: RunRecord, agentOf: () => Agent): Promise<void> {
    const isCarried = run.state.status === 'running' || run.state.status === 'waiting_confirmation';
    if (isCarried || !(await this.#isOpen(run))) return;
    const followUp = async (): Promise<RunRecord> => run;
    await this.#context.supervision?.carryOn({
      run,
      // A stop asks nobody: it needs no agent, and may be asked for where none is defined.
      get agent() {
        return agentOf();
      },
      signal: AbortSignal.abort(),
      followUp,
    });
  }

  /** Begins a follow-up or takes it up, and carries it on as long as the run before it is carried on. */
  async #followUp(driving: Driving, asked: FollowUp): Promise<RunRecord> {
    const { run, agent, listener, adopts } = driving;
    const { run: next, begun } = await comingBack(this.#context, () =>
      beginFollowUp(this.#context, run, agent, asked, this.#carried.askPen),
    );
    const { status } = next.state;
    if (begun === null && (status === 'completed' || status === 'stopped')) return next;
    const handle = begun
      ? this.#carried.carry(next.principal, begun, agent, listener)
      : await this.#takeUp(next, listener, adopts);
    if (handle) return this.#carried.endedWith(driving, handle);
    return this.#context.calls.store.read('runs.get', (tx) => requireRun(tx, next.principal, next.runId));
  }
}
