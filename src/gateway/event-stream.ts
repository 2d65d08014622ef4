import { fail, stopwatch } from '../core/index.ts';
import type { Token } from '../principals/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { FeedEntry } from '../store/index.ts';
import { requireStillGood } from './authenticate.ts';
import type { GatewayContext } from './context.ts';
import type { FeedTail } from './feed-watcher.ts';

export interface StreamAsked {
  readonly gateway: GatewayContext;
  readonly principal: Principal;
  readonly token: Token;
  readonly request: Request;
  /** Only what happens in this session; null: all of the tenant. */
  readonly sessionId: string | null;
}

const RETRY_MS = 2000;

/**
 * The feed as server-sent events, from after `Last-Event-ID`, else from now on. It is pulled: whoever reads slowly is
 * behind in the feed and nothing is held for them, so nothing is lost, repeated or piled up. It says first where it stands:
 * whoever loses it before the first event goes on from there. A heartbeat moves the last event id on, looks whether the
 * token is still good, and ends the stream when it is not.
 */
export async function eventStream(asked: StreamAsked): Promise<Response> {
  const { gateway, principal, request } = asked;
  const { tail, head } = await gateway.feed.join(principal.tenant);
  let after: number;
  try {
    after = startOf(request, head);
  } catch (error) {
    gateway.feed.leave(tail);
    throw error;
  }
  gateway.metrics.streams(1);
  const gone = new AbortController();
  let left = false;
  const leave = (): void => {
    if (left) return;
    left = true;
    gone.abort();
    gateway.metrics.streams(-1);
    gateway.feed.leave(tail);
  };
  if (request.method === 'HEAD') leave();
  request.signal.addEventListener('abort', leave, { once: true });
  const frames = framesOf(asked, tail, after, AbortSignal.any([gone.signal, gateway.stopping]));
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const frame = await frames.next().catch(() => ({ done: true, value: undefined }) as const);
        if (!frame.done && !left) return controller.enqueue(Buffer.from(frame.value));
        leave();
        controller.close();
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
  return new Response(left ? null : body, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
  });
}

/** Where the stream begins. A number that the feed has not reached is of another database: REQUEST_INVALID. */
function startOf(request: Request, head: number): number {
  const asked = request.headers.get('last-event-id');
  if (asked === null || asked === '') return head;
  const after = /^\d{1,15}$/.test(asked) ? Number(asked) : Number.NaN;
  if (!(after <= head))
    throw fail('REQUEST_INVALID', 'Last-Event-ID is not a number that this feed has given.', {
      details: { where: 'header last-event-id' },
    });
  return after;
}

async function* framesOf(
  asked: StreamAsked,
  tail: FeedTail,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const { feed, heartbeatMs } = asked.gateway;
  let after = from;
  // Beats go by what has passed: the clock of the machine may be set, and is refused where it was set back.
  let sinceBeat = stopwatch();
  const untilBeat = (): number => heartbeatMs - sinceBeat() * 1000;
  yield `id: ${after}\nretry: ${RETRY_MS}\n\n`;
  while (!signal.aborted) {
    const due = untilBeat() <= 0;
    // Looked at before anything more is told: a reader may have been slow for longer than its token was good.
    if (due && !(await isStillGood(asked))) return;
    const { entries, upTo } = await feed.page(tail, after);
    const shown = await shownTo(asked, entries);
    after = upTo;
    if (shown.length > 0) yield shown.map(frameOf).join('');
    if (entries.length > 0 && !due) continue;
    if (due) {
      sinceBeat = stopwatch();
      yield `id: ${after}\n: heartbeat\n\n`;
    }
    await feed.wait(tail, after, Math.max(1, untilBeat()), signal);
  }
}

async function shownTo({ gateway, principal, sessionId }: StreamAsked, entries: readonly FeedEntry[]) {
  if (sessionId === null) return entries;
  const shown: FeedEntry[] = [];
  for (const entry of entries) if ((await gateway.places.sessionOf(principal, entry)) === sessionId) shown.push(entry);
  return shown;
}

function frameOf({ seq, kind, reference }: FeedEntry): string {
  return `id: ${seq}\nevent: ${kind}\ndata: ${JSON.stringify({ seq, kind, reference })}\n\n`;
}

function isStillGood({ gateway, request, token }: StreamAsked): Promise<boolean> {
  return requireStillGood(gateway, request, token).then(
    () => true,
    () => false,
  );
}
