import type { ExportedPackage } from '../packages/index.ts';
import type { GatewayContext } from './context.ts';
import { Stopwatch } from './pace.ts';

/**
 * A finished package as a response, read from its file as fast as the other side takes it. `ended` is called once,
 * whatever ends it: the last byte, a reader that is gone or takes nothing any more (its connection is cut), a HEAD that
 * wants no body.
 */
export function packageResponse(
  { connections, pace }: Pick<GatewayContext, 'connections' | 'pace'>,
  made: ExportedPackage,
  request: Request,
  ended: () => void,
): Response {
  const headers = {
    'content-type': made.contentType,
    'content-length': String(made.sizeBytes),
    'content-disposition': `attachment; filename="${made.filename}"`,
    'x-content-sha256': made.sha256,
    'x-manifest-sha256': made.manifestSha256,
    'x-openai4s-session-schema': String(made.schemaVersion),
  };
  let isOver = false;
  const watch = new Stopwatch(pace, () => connections.cut(request));
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    watch.stop();
    ended();
  };
  if (request.method === 'HEAD') {
    end();
    return new Response(null, { headers });
  }
  request.signal.addEventListener('abort', end, { once: true });
  return new Response(streamOf(made, watch, end), { headers });
}

/** What is given at a time: who takes so little within the time between two pieces is not gone. */
const PIECE_BYTES = 64 * 1024;

function* piecesOf(made: ExportedPackage): Generator<Uint8Array, undefined> {
  for (const chunk of made.chunks())
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
}

function streamOf(made: ExportedPackage, watch: Stopwatch, end: () => void): ReadableStream<Uint8Array> {
  const chunks = piecesOf(made);
  const over = (): void => {
    chunks.return(undefined);
    end();
  };
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        watch.moved();
        const { done, value } = chunks.next();
        if (!done) {
          watch.wait();
          return controller.enqueue(value);
        }
        over();
        controller.close();
      },
      cancel: over,
    },
    { highWaterMark: 0 },
  );
}
