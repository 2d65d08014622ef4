import { HoldfastError, LIMITS } from '../../core/index.ts';
import { type Trace, UNFINISHED } from '../trace/model.ts';
import type { AgentContext } from './driving.ts';
import { rejudgeStored } from './rejudge.ts';

/** What became of each unfinished run, by id. */
export interface ReconcileReport {
  /** Nobody has decided yet. */
  readonly waiting: string[];
  /** Decided and nothing under way: goes on in the background. */
  readonly started: string[];
  /** A call had started: `failed`, and nothing is repeated. */
  readonly unknown: string[];
  readonly stopped: string[];
  /** Ended between calls: nothing is lost, and `run` goes on. Left as it is. */
  readonly interrupted: string[];
  /** A living process carries it out. */
  readonly spared: string[];
  /** Could not be judged, such as a damaged trace: with the code of the error. */
  readonly refused: { readonly traceId: string; readonly code: string }[];
}

type Left = Exclude<keyof ReconcileReport, 'refused'>;

/** Goes through all unfinished runs that nobody carries out. Runs nothing itself: `start` is asked to. */
export async function reconcileTraces(
  context: AgentContext,
  isHere: (traceId: string) => boolean,
  start: (traceId: string) => Promise<void>,
): Promise<ReconcileReport> {
  const report: ReconcileReport = {
    waiting: [],
    started: [],
    unknown: [],
    stopped: [],
    interrupted: [],
    spared: [],
    refused: [],
  };
  for await (const trace of unfinishedTraces(context)) {
    try {
      const left = isHere(trace.traceId) ? 'spared' : await reconcileOne(context, trace);
      if (left === 'started') await start(trace.traceId);
      report[left].push(trace.traceId);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      report.refused.push({ traceId: trace.traceId, code: error.code });
    }
  }
  return report;
}

async function* unfinishedTraces({ home }: AgentContext): AsyncGenerator<Trace> {
  let after: string | undefined;
  for (;;) {
    const page = await home.traces.listTraces({
      status: UNFINISHED,
      limit: LIMITS.tracePage,
      ...(after === undefined ? {} : { after }),
    });
    yield* page;
    after = page.at(-1)?.traceId;
    if (page.length < LIMITS.tracePage || after === undefined) return;
  }
}

async function reconcileOne(context: AgentContext, { traceId }: Trace): Promise<Left> {
  const hold = await context.home.holds.acquire(traceId, 0);
  if (hold === null) return 'spared';
  try {
    await context.home.traces.reconcileTraceIntegrity(traceId);
    return await settle(context, traceId);
  } finally {
    hold.release();
  }
}

async function settle(context: AgentContext, traceId: string): Promise<Left> {
  const batch = await rejudgeStored(context, traceId, (judged) => judged.batch);
  switch (batch?.status) {
    case undefined:
    case 'completed':
      return 'interrupted';
    case 'pending':
      await context.home.traces.updateTrace(traceId, { status: 'waiting_confirmation' });
      return 'waiting';
    case 'decided':
    case 'executing':
      return 'started';
    case 'cancelled':
      await context.home.traces.updateTrace(traceId, { status: 'stopped' });
      return 'stopped';
    case 'execution_unknown': {
      const errorMessage = 'The outcome is unknown: a call had started when the process ended.';
      await context.home.traces.updateTrace(traceId, { status: 'failed', errorMessage });
      return 'unknown';
    }
  }
}
