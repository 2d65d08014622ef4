import { type Clock, LIMITS, redactText, storableText } from '../core/index.ts';
import { NotDone, type Tool, type ToolCallContext, type ToolPrincipal, type ToolProgress } from '../tools/index.ts';

/** What every invocation of a tool's handler is told. */
export interface Invocation {
  readonly callId: string;
  readonly idempotencyKey: string;
  readonly principal: ToolPrincipal;
  readonly runId: string | null;
  /** Aborted when the call is cancelled. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** What the right to invoke a writing tool ends with: looked at just before, and the call is aborted at its end. */
  readonly lease?: HeldLease;
  readonly pageUrl?: string;
  readonly onProgress?: (update: ToolProgress) => void;
}

/** A lease as its holder keeps it, and the clock by which it was given. */
export interface HeldLease {
  readonly untilMs: number;
  readonly clock: Clock;
}

/** How one invocation of a handler ended; `returned` says nothing yet about whether the value is valid. */
export type Attempt =
  | { readonly ended: 'returned'; readonly value: unknown }
  | { readonly ended: 'not_done'; readonly reason: string }
  | { readonly ended: 'threw'; readonly reason: string }
  | { readonly ended: 'timed_out'; readonly timeoutMs: number }
  | { readonly ended: 'cancelled' }
  /** Before the handler could be invoked the run was stopped, or the lease over: whoever was held up sends nothing any more. */
  | { readonly ended: 'not_sent'; readonly reason: string };

/** Runs the tool's `execute`. Never throws and never waits past the time-out, whatever the handler does. */
export function attemptExecute(tool: Tool, input: unknown, of: Invocation): Promise<Attempt> {
  return attempt((call) => tool.execute(input, call), of);
}

/** Runs the tool's `status`, of a tool that has one. Never throws and never waits past the time-out. */
export function attemptStatus(tool: Tool, input: unknown, of: Invocation): Promise<Attempt> {
  return attempt((call) => tool.status?.(input, call), of);
}

/** Runs the tool's `observe`, of a tool that has one. Never throws and never waits past the time-out. */
export function attemptObserve(tool: Tool, input: unknown, of: Invocation): Promise<Attempt> {
  return attempt((call) => tool.observe?.(input, call), of);
}

const STOPPED_BEFORE = 'It was stopped before the tool was invoked: this process has not sent it.';
const HELD_UP = 'This process was held up until the lease of the call had ended, and has not sent it.';

async function attempt(handler: (call: ToolCallContext) => unknown, of: Invocation): Promise<Attempt> {
  if (of.signal.aborted) return { ended: 'not_sent', reason: STOPPED_BEFORE };
  const timeoutMs = Math.min(of.timeoutMs, leftOf(of.lease));
  if (timeoutMs <= 0) return { ended: 'not_sent', reason: HELD_UP };
  return attemptWithin(handler, { ...of, timeoutMs });
}

function leftOf(lease: HeldLease | undefined): number {
  return lease ? lease.untilMs - lease.clock.nowMs() : Number.POSITIVE_INFINITY;
}

async function attemptWithin(handler: (call: ToolCallContext) => unknown, of: Invocation): Promise<Attempt> {
  const ending = new AbortController();
  let over = false;
  const call = contextOf(of, ending.signal, () => over);
  const stopped = untilStopped(of, ending);
  try {
    return await Promise.race([run(handler, call), stopped.promise]);
  } finally {
    over = true;
    stopped.forget();
  }
}

async function run(handler: (call: ToolCallContext) => unknown, call: ToolCallContext): Promise<Attempt> {
  try {
    return { ended: 'returned', value: await handler(call) };
  } catch (error) {
    const reason = reasonOf(error);
    return saysNotDone(error) ? { ended: 'not_done', reason } : { ended: 'threw', reason };
  }
}

/** What cannot be looked at proves nothing. */
function saysNotDone(error: unknown): boolean {
  try {
    return NotDone.is(error);
  } catch {
    return false;
  }
}

function contextOf(of: Invocation, signal: AbortSignal, isOver: () => boolean): ToolCallContext {
  return {
    callId: of.callId,
    idempotencyKey: of.idempotencyKey,
    principal: of.principal,
    runId: of.runId,
    signal,
    timeoutMs: of.timeoutMs,
    ...(of.pageUrl === undefined ? {} : { pageUrl: of.pageUrl }),
    progress: (update) => {
      const told = isOver() ? null : progressOf(update);
      if (told) of.onProgress?.(told);
    },
  };
}

/** A tool's word on how far it is; null for what is none. What is shown is a copy, read once. */
function progressOf(update: unknown): ToolProgress | null {
  try {
    const { done, total, text } = update as Partial<Record<keyof ToolProgress, unknown>>;
    if (typeof done !== 'number') return null;
    return {
      done,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof text === 'string' ? { text } : {}),
    };
  } catch {
    return null;
  }
}

interface Stopped {
  readonly promise: Promise<Attempt>;
  forget(): void;
}

/** Settles at the time-out or at the cancellation, whichever is first, and aborts the handler's signal with it. */
function untilStopped(of: Invocation, ending: AbortController): Stopped {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  const end = (attempt: Attempt): void => {
    resolve(attempt);
    ending.abort();
  };
  const onAbort = (): void => end({ ended: 'cancelled' });
  const timer = setTimeout(() => end({ ended: 'timed_out', timeoutMs: of.timeoutMs }), of.timeoutMs);
  of.signal.addEventListener('abort', onAbort, { once: true });
  return {
    promise,
    forget: () => {
      clearTimeout(timer);
      of.signal.removeEventListener('abort', onAbort);
    },
  };
}

/** A text of another's error that may be stored and shown: redacted, bounded, never a stack. */
export function reasonOf(error: unknown): string {
  const cut = storableText(messageOf(error).slice(0, LIMITS.callReasonCharacters));
  return redactText(cut) || 'no reason was given';
}

/** What was thrown is a stranger's: its message may be no text, and looking at it may throw. */
function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return typeof message === 'string' ? message : 'no reason was given';
  } catch {
    return 'no reason was given';
  }
}
