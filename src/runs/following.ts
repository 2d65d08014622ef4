import { LIMITS } from '../core/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { RunListener } from './context.ts';
import { isFollowUp } from './follow-up.ts';
import type { RunRecord } from './model.ts';
import type { RunNewsItem } from './run-news.ts';
import * as sql from './run-queries.ts';
import { isReady, requireRun, runOf, runTree } from './run-store.ts';
import type { WaitingHost } from './waiting.ts';

/** How a process that carries decided runs on is told of them. */
export interface CarryOnOptions {
  /** Hears of each run that is carried on. */
  readonly listener?: RunListener;
  /** A run could not be carried on; it stands as it is stored. Default: nothing is told. */
  readonly onError?: (runId: string, error: unknown) => void;
}

/** Carries on whatever run of the agents of this process waits no more, though nobody here awaits it. */
export class Following {
  readonly #host: WaitingHost;
  readonly #options: CarryOnOptions;
  #closed = false;

  constructor(host: WaitingHost, options: CarryOnOptions) {
    this.#host = host;
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
  }

  /** Runs that were decided while nobody was there to carry them on, a page at a time. */
  async takeUpDecided(): Promise<void> {
    for (let after = ''; !this.#closed; ) {
      const page = await this.#host.store.read('runs.waiting', (tx) => waitingAfter(tx, after));
      for (const { principal, runId } of page) await this.hear({ tenant: principal.tenant, runId });
      const last = page.at(-1);
      if (!last || page.length < LIMITS.sessionPageRows) return;
      after = last.runId;
    }
  }

  /** Something was written about a run: the run at the top of its tree is carried on where nothing below it waits. */
  async hear({ tenant, runId }: RunNewsItem): Promise<void> {
    try {
      const top = await this.#host.store.read('runs.waiting', (tx) => readyTop(tx, tenant, runId));
      if (top === null || this.#closed || !this.#host.knows(top.agent)) return;
      const { ended } = await this.#host.resume(top.principal, top.runId, this.#options.listener ?? {});
      ended.catch((error: unknown) => this.#tell(top.runId, error));
    } catch (error) {
      this.#tell(runId, error);
    }
  }

  #tell(runId: string, error: unknown): void {
    if (!this.#closed && !this.#host.isElsewhere(error)) this.#options.onError?.(runId, error);
  }
}

async function waitingAfter(tx: ReadTx, after: string): Promise<readonly RunRecord[]> {
  return (await tx.all(sql.LIST_WAITING, [after, LIMITS.sessionPageRows])).map(runOf);
}

/**
 * The run above all others of a run's tree, where it waits, or the follow-up that was heard of does, and nothing of the
 * tree waits for a person any more; else null.
 */
async function readyTop(tx: ReadTx, tenant: string, runId: string): Promise<RunRecord | null> {
  const reader = { tenant, subject: 'watcher', roles: [] };
  const heard = await requireRun(tx, reader, runId);
  let top = heard;
  for (let depth = 0; top.parent !== null && depth <= LIMITS.runDepth; depth += 1)
    top = await requireRun(tx, reader, top.parent.runId);
  const waits = isFollowUp(heard) ? heard : top;
  if (waits.state.status !== 'waiting_confirmation') return null;
  return (await isReady(tx, await runTree(tx, reader, top.runId))) ? top : null;
}
