import type { ShownRequest } from '../approvals/index.ts';
import { checkOptions, fail, type JsonObject, requireText } from '../core/index.ts';
import {
  childTool,
  type GoalTree,
  namingRun,
  type OpenSideBranch,
  type ResumeOptions,
  type RunHandle,
  type RunListener,
} from '../runs/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { Tool } from '../tools/index.ts';
import { EDIT_OPTION, REQUEST_OPTION, RUN_OPTIONS } from './option-shapes.ts';
import { type RunView, viewOfRun } from './run-view.ts';
import type { Runtime } from './runtime.ts';

export interface RunOptions {
  /** Go on with this session; default: a session of its own. */
  readonly rootFrameId?: string;
  readonly branchId?: string;
  readonly principal?: Principal;
  readonly listener?: RunListener;
}

/** A defined agent: starts and resumes its runs. */
export class AgentHandle {
  readonly #runtime: Runtime;
  readonly #listener: RunListener;
  readonly name: string;
  /** How another agent gives it a task. */
  readonly #purpose: string;
  #asTool: Tool | undefined;

  constructor(runtime: Runtime, name: string, listener: RunListener, purpose?: string) {
    this.#runtime = runtime;
    this.name = name;
    this.#listener = listener;
    this.#purpose = purpose ?? `Gives a task to the agent ${name} and answers with what came of it.`;
  }

  /** The tool by which another agent gives this one a task. Throws TOOL_INVALID where no tool may have its name. */
  get asTool(): Tool {
    this.#asTool ??= childTool(this.name, this.#purpose);
    return this.#asTool;
  }

  /** Begins a run and settles when it waits for a person or has ended. INVALID_VALUE names an option of a wrong shape; see `Runs.start`. */
  async run(task: string, options: RunOptions = {}): Promise<Run> {
    checkOptions('agent.run', options, RUN_OPTIONS);
    const principal = options.principal ?? this.#runtime.principal;
    const handle = await this.#runtime.runs.start(principal, this.name, {
      task,
      projectId: this.#runtime.projectId,
      listener: options.listener ?? this.#listener,
      ...(options.rootFrameId === undefined ? {} : { rootFrameId: options.rootFrameId }),
      ...(options.branchId === undefined ? {} : { branchId: options.branchId }),
    });
    return Run.of(this.#runtime, principal, handle);
  }

  /** Carries on a run that waits, failed or was interrupted; see `Runs.resume`. */
  async resume(runId: string, options: Pick<RunOptions, 'principal' | 'listener'> & ResumeOptions = {}): Promise<Run> {
    requireText('runId', runId);
    checkOptions('agent.resume', options, RUN_OPTIONS);
    const { principal = this.#runtime.principal, listener = this.#listener, ...how } = options;
    return Run.of(this.#runtime, principal, await this.#runtime.runs.resume(principal, runId, listener, how));
  }
}

/** How a run stands after something was done; where that cannot be read, the run is named all the same. */
const shown = (runtime: Runtime, principal: Principal, runId: string): Promise<RunView> =>
  namingRun(runId, () => viewOfRun(runtime, principal, runId));

/** A run as its host sees it, after it last came to a stand. */
export class Run {
  readonly #runtime: Runtime;
  readonly #principal: Principal;
  #view: RunView;

  private constructor(runtime: Runtime, principal: Principal, view: RunView) {
    this.#runtime = runtime;
    this.#principal = principal;
    this.#view = view;
  }

  static async of(runtime: Runtime, principal: Principal, handle: RunHandle): Promise<Run> {
    await handle.ended;
    return new Run(runtime, principal, await shown(runtime, principal, handle.runId));
  }

  get id(): string {
    return this.#view.runId;
  }

  /** How it stands: `waiting_confirmation`, `completed`, `failed`, `stopped`, or `running` where it was interrupted. */
  get status(): RunView['status'] {
    return this.#view.status;
  }

  /** What the model said last. */
  get text(): string {
    return this.#view.text;
  }

  /** The permission requests that a person has to decide. */
  get pending(): readonly ShownRequest[] {
    return this.#view.pending;
  }

  /** How the supervision of it stands: what was reviewed, found, repaired and verified; null where there is none. */
  get supervision(): RunView['supervision'] {
    return this.#view.supervision;
  }

  /** Each call with its outcome, in order; the whole run as every surface shows it. */
  get view(): RunView {
    return this.#view;
  }

  /**
   * Approves a request, with changed arguments where given, and carries the run on once nothing waits any more.
   * Throws APPROVAL_NOT_FOUND where there is none, INVALID_VALUE for what is of a wrong shape, and what
   * `Approvals.decide` throws.
   */
  async approve(request: ShownRequest | undefined, edit?: { readonly editedArguments: JsonObject }): Promise<this> {
    if (edit === undefined) return this.#decide(request, { decision: 'approve' });
    EDIT_OPTION('edit', edit);
    return this.#decide(request, { decision: 'approve', editedArguments: edit.editedArguments });
  }

  /** Rejects a request; the reason goes to the model. */
  async reject(request: ShownRequest | undefined, message?: string): Promise<this> {
    return this.#decide(request, { decision: 'reject', ...(message === undefined ? {} : { message }) });
  }

  async #decide(
    request: ShownRequest | undefined,
    said: { readonly decision: 'approve' | 'reject'; readonly editedArguments?: JsonObject; readonly message?: string },
  ): Promise<this> {
    if (request === undefined) throw fail('APPROVAL_NOT_FOUND', 'Nothing of this run waits for a decision.');
    REQUEST_OPTION('request', request);
    const { requestId, digest } = request;
    await this.#runtime.approvals.decide(this.#principal, [{ requestId, digest, ...said }]);
    await this.refresh();
    return this.#view.pending.length > 0 ? this : this.resume();
  }

  /** Carries it on; see `Runs.resume`. */
  async resume(listener?: RunListener, options: ResumeOptions = {}): Promise<this> {
    checkOptions('run.resume', { listener }, RUN_OPTIONS);
    checkOptions('run.resume', options, RUN_OPTIONS);
    const { ended } = await this.#runtime.runs.resume(this.#principal, this.id, listener, options);
    await ended;
    return this.refresh();
  }

  /** Waits for whatever it needs of people, whoever decides and in whatever process, until it has ended. */
  async wait(listener?: RunListener): Promise<this> {
    checkOptions('run.wait', { listener }, RUN_OPTIONS);
    const { ended } = await this.#runtime.runs.whenDecided(this.#principal, this.id, listener);
    await ended;
    return this.refresh();
  }

  /**
   * Opens a short detour of it, which has its turns before the main line's when the run is next carried on; answers its
   * id. What it came to is in `view.sideBranches`. See `Runs.openSideBranch` for what it throws.
   */
  async openSideBranch(branch: OpenSideBranch): Promise<string> {
    checkOptions('run.openSideBranch', branch, {});
    const branchId = await this.#runtime.runs.openSideBranch(this.#principal, this.id, branch);
    await this.refresh();
    return branchId;
  }

  /** Puts a goal tree beside it, in place of the one before; see `Runs.setGoals`. */
  async setGoals(tree: GoalTree): Promise<this> {
    await this.#runtime.runs.setGoals(this.#principal, this.id, tree);
    return this.refresh();
  }

  /** Stops it; see `Runs.stop`. */
  async stop(): Promise<this> {
    await this.#runtime.runs.stop(this.#principal, this.id);
    return this.refresh();
  }

  /** Reads again how it stands. */
  async refresh(): Promise<this> {
    this.#view = await shown(this.#runtime, this.#principal, this.id);
    return this;
  }
}
