import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Holdfast } from '../../src/index.ts';

type Runtime = Holdfast['runtime'];

/** What a hazard needs of an actor, wherever it acts. */
export interface Actor {
  readonly principal: Runtime['principal'];
  decide(principal: Runtime['principal'], decisions: Parameters<Runtime['approvals']['decide']>[1]): Promise<unknown>;
  stop(principal: Runtime['principal'], runId: string): Promise<unknown>;
  /** Carries the run on, and settles when it stands. */
  resume(principal: Runtime['principal'], runId: string): Promise<unknown>;
  sweep(): Promise<unknown>;
}

/** An actor in this process. */
export function actorHere({ runtime }: Holdfast): Actor {
  const { principal, approvals, runs } = runtime;
  return {
    principal,
    decide: (by, decisions) => approvals.decide(by, decisions),
    stop: (by, runId) => runs.stop(by, runId),
    resume: async (by, runId) => (await runs.resume(by, runId)).ended,
    sweep: () => approvals.sweep(),
  };
}

/** A process of its own that acts in whatever data folder it is told. */
export class OtherProcess {
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'hazard-actor.ts'), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  readonly #waiting = new Map<number, { settle: (value: unknown) => void; refuse: (error: Error) => void }>();
  #last = 0;

  constructor() {
    this.#child.on('message', ({ id, value, code }: { id: number; value?: unknown; code?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (code === undefined) waiting?.settle(value);
      else waiting?.refuse(Object.assign(new Error(`the other process: ${code}`), { code }));
    });
  }

  order(order: Readonly<Record<string, unknown>>): Promise<unknown> {
    const id = (this.#last += 1);
    return new Promise((settle, refuse) => {
      this.#waiting.set(id, { settle, refuse });
      this.#child.send({ id, ...order });
    });
  }

  actor(dataDir: string, principal: Runtime['principal'], laterMs: () => number): Actor {
    const at = (act: string, more: object = {}) => this.order({ dataDir, act, laterMs: laterMs(), ...more });
    return {
      principal,
      decide: (by, decisions) => at('decide', { principal: by, decisions }),
      stop: (by, runId) => at('stop', { principal: by, runId }),
      resume: (by, runId) => at('resume', { principal: by, runId }),
      sweep: () => at('sweep', { principal }),
    };
  }

  async close(): Promise<void> {
    this.#child.disconnect();
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
  }
}
