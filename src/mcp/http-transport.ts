import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { fail, type HoldfastError, LIMITS } from '../core/index.ts';
import type { HttpServer } from './server-options.ts';

/**
 * Streamable HTTP with bounded answers and no redirects; an interrupted stream is taken up again, never sent again.
 * `onBroken` is told of a message that is too large: of one in a stream of events nobody else would hear.
 */
export function httpTransport(
  server: HttpServer,
  onBroken: (failure: HoldfastError) => void,
): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { ...server.headers }, redirect: 'error' },
    fetch: (url, init) => boundedFetch(url, init, onBroken),
    reconnectionOptions: {
      initialReconnectionDelay: 200,
      maxReconnectionDelay: 2_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 2,
    },
  });
}

async function boundedFetch(
  url: string | URL,
  init: RequestInit | undefined,
  onBroken: (failure: HoldfastError) => void,
): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const events = (response.headers.get('content-type') ?? '').includes('text/event-stream');
  const body = response.body.pipeThrough(boundedBytes(LIMITS.mcpMessageBytes, events, onBroken));
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}

/** Passes bytes on until one body, or one event of a stream, is larger than `max`. */
function boundedBytes(
  max: number,
  events: boolean,
  onBroken: (failure: HoldfastError) => void,
): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let lastByte = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of chunk) {
        size += 1;
        // Events end at an empty line; CR LF CR LF has LF twice as well, with a CR between that does not matter.
        if (events && byte === 0x0a && lastByte === 0x0a) size = 0;
        if (byte !== 0x0d) lastByte = byte;
        if (size > max) {
          const failure = fail('MCP_PROTOCOL_BROKEN', `The MCP server sent a message of more than ${max} bytes.`);
          controller.error(failure);
          onBroken(failure);
          return;
        }
      }
      controller.enqueue(chunk);
    },
  });
}
