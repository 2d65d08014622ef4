import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientOptions, GatewayRefusal, NotTheGateway, refusalOf } from './request.ts';

/** Something that happened: what, by name, and to which object. */
export interface GatewayEvent {
  /** Rises with every event; give it as `after` to go on from there. */
  readonly seq: number;
  /** Such as `approval.requested`. */
  readonly kind: string;
  /** The id of what it happened to. */
  readonly reference: string;
}

export interface EventsAsked {
  /** Only what happens in this session. */
  readonly sessionId?: string;
  /** Everything after this number; else what happens from now on. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

const AGAIN_MS = 500;

/**
 * Events in order, without a gap or a repeat, for as long as they are read: a connection that is lost is opened again
 * after the last event. Ends when the signal aborts; throws GatewayRefusal where the gateway refuses for good, and an
 * error where what answers is something else that will not pass.
 */
export async function* events(options: ClientOptions, asked: EventsAsked = {}): AsyncGenerator<GatewayEvent, void> {
  const { sessionId, signal } = asked;
  const path = sessionId === undefined ? '/api/v1/events' : `/api/v1/sessions/${encodeURIComponent(sessionId)}/events`;
  const position = { after: asked.after };
  while (!signal?.aborted) {
    try {
      yield* oneConnection(options, path, position, signal);
    } catch (error) {
      if (signal?.aborted) return;
      if (isForGood(error)) throw error;
    }
    await sleep(AGAIN_MS, undefined, signal ? { signal } : {}).catch(() => undefined);
  }
}

/** What stands before a gateway may answer in its place for a while: with a status above 499, or one of these. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

function isForGood(error: unknown): boolean {
  if (error instanceof GatewayRefusal) return !error.retryable;
  return error instanceof NotTheGateway && error.status < 500 && !PASSING.has(error.status);
}

interface Position {
  after: number | undefined;
}

async function* oneConnection(
  options: ClientOptions,
  path: string,
  position: Position,
  signal: AbortSignal | undefined,
): AsyncGenerator<GatewayEvent, void> {
  const headers: Record<string, string> = { authorization: `Bearer ${options.token}` };
  if (position.after !== undefined) headers['last-event-id'] = String(position.after);
  const response = await (options.fetch ?? fetch)(`${options.url}${path}`, { headers, ...(signal ? { signal } : {}) });
  if (!response.ok) throw await refusalOf(response);
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    throw new NotTheGateway(response.status);
  }
  for await (const frame of framesOf(response)) {
    const { id, data } = fieldsOf(frame);
    if (id !== undefined) position.after = Number(id);
    if (data !== undefined) yield JSON.parse(data) as GatewayEvent;
  }
}

/** The blocks of an event stream, which an empty line ends. */
async function* framesOf(response: Response): AsyncGenerator<string, void> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    const parts = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

function fieldsOf(frame: string): { readonly id?: string; readonly data?: string } {
  const lines = frame.split('\n').map((line) => /^(\w+): (.*)$/.exec(line));
  return Object.fromEntries(lines.flatMap((match) => (match ? [[match[1], match[2]]] : [])));
}
