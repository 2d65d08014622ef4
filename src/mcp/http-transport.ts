import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { type HoldfastError, isJsonObject, type JsonValue, LIMITS, plainJson } from '../core/index.ts';
import type { HttpServer } from './server-options.ts';
import { protocolBroken, readServerJson } from './strict-message.ts';
import { EventFramer, type FramedEvent } from './wire/event-framer.ts';

/**
 * Streamable HTTP with bounded answers that are read strictly, and no redirects; an interrupted stream is taken up again,
 * never sent again. `onBroken` is told of a message that is too large or can be read in two ways: of one in a stream of
 * events nobody else would hear.
 */
export function httpTransport(
  server: HttpServer,
  onBroken: (failure: HoldfastError) => void,
): StreamableHTTPClientTransport {
  const exact = new ExactAnswers();
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { ...server.headers }, redirect: 'error' },
    fetch: (url, init) => strictFetch(url, init, { onBroken, exact }),
    reconnectionOptions: {
      initialReconnectionDelay: 200,
      maxReconnectionDelay: 2_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 2,
    },
  });
  exact.standBefore(transport);
  boundAnswers(transport, onBroken);
  return transport;
}

/** What a server may ask is small: more than this has not been taken only by one that asks without an end. */
const MOST_OWED = 256;

/** Each answer to a server's question is a request of its own: one that takes none would have them all kept open. */
function boundAnswers(transport: StreamableHTTPClientTransport, onBroken: (failure: HoldfastError) => void): void {
  const send: Transport['send'] = transport.send.bind(transport);
  let owed = 0;
  transport.send = async (message: Parameters<Transport['send']>[0], options) => {
    if ('method' in message) return send(message, options);
    if (owed >= MOST_OWED) {
      const failure = protocolBroken('asked for more than it takes answers to');
      onBroken(failure);
      throw failure;
    }
    owed += 1;
    return send(message, options).finally(() => (owed -= 1));
  };
}

type OnMessage = NonNullable<Transport['onmessage']>;

/** So many may be read before the SDK has read the same ones. */
const MOST_AHEAD = 64;

/**
 * Answers in streams of events with integers that a double cannot hold: the SDK reads them once more, and would round
 * them. They are put in the place of what it read.
 */
class ExactAnswers {
  readonly #byId = new Map<unknown, unknown>();

  add(message: JsonValue): void {
    if (!isJsonObject(message) || !Object.hasOwn(message, 'result')) return;
    const plain = plainJson(message) as { readonly id?: unknown };
    if (!holdsBigInt(plain)) return;
    if (this.#byId.size >= MOST_AHEAD) this.#byId.clear();
    this.#byId.set(plain.id, plain);
  }

  standBefore(transport: StreamableHTTPClientTransport): void {
    let handler: OnMessage | undefined;
    Object.defineProperty(transport, 'onmessage', {
      get: () => handler,
      set: (next: OnMessage | undefined) => {
        handler = next && ((message, extra) => next(this.#exactOf(message), extra));
      },
    });
  }

  #exactOf(message: Parameters<OnMessage>[0]): Parameters<OnMessage>[0] {
    if (!('result' in message)) return message;
    const exact = this.#byId.get(message.id);
    return this.#byId.delete(message.id) ? (exact as typeof message) : message;
  }
}

function holdsBigInt(value: unknown): boolean {
  if (typeof value === 'bigint') return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsBigInt);
}

interface Reading {
  readonly onBroken: (failure: HoldfastError) => void;
  readonly exact: ExactAnswers;
}

async function strictFetch(url: string | URL, init: RequestInit | undefined, reading: Reading): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  const type = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase();
  const events = response.ok && type === 'text/event-stream';
  const pipe = events ? strictEvents(reading) : boundedBytes(LIMITS.mcpMessageBytes, reading.onBroken);
  const read = new Response(response.body.pipeThrough(pipe), { status, statusText, headers });
  if (response.ok && type === 'application/json')
    Object.defineProperty(read, 'json', { value: () => strictJson(read, reading) });
  return read;
}

async function strictJson(response: Response, { onBroken }: Reading): Promise<unknown> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  try {
    return plainJson(readServerJson(bytes));
  } catch {
    const failure = protocolBroken('sent something that is no protocol message');
    onBroken(failure);
    throw failure;
  }
}

/** Passes bytes on until there are more than `max`. */
function boundedBytes(max: number, onBroken: Reading['onBroken']): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size <= max) return controller.enqueue(chunk);
      breakOff(controller, protocolBroken(`sent a message of more than ${max} bytes`), onBroken);
    },
  });
}

/** Passes events on, whole, until one is too long or its message can be read in two ways. */
function strictEvents({ onBroken, exact }: Reading): TransformStream<Uint8Array, Uint8Array> {
  const max = LIMITS.mcpMessageBytes;
  const framer = new EventFramer(max);
  const faultOf = (event: FramedEvent): HoldfastError | null => {
    if (event.kind === 'part') return protocolBroken(`sent a message of more than ${max} bytes`);
    if (event.data === null || event.data.byteLength === 0 || (event.type || 'message') !== 'message') return null;
    try {
      exact.add(readServerJson(event.data));
      return null;
    } catch {
      return protocolBroken('sent something that is no protocol message');
    }
  };
  return new TransformStream({
    transform(chunk, controller) {
      for (const event of framer.push(chunk)) {
        const fault = faultOf(event);
        if (fault) return breakOff(controller, fault, onBroken);
        controller.enqueue(event.bytes);
      }
    },
  });
}

function breakOff(
  controller: TransformStreamDefaultController<Uint8Array>,
  failure: HoldfastError,
  onBroken: Reading['onBroken'],
): void {
  controller.error(failure);
  onBroken(failure);
}
