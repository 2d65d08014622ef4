import type { ExportedPackage } from '../packages/index.ts';

/**
 * A finished package as a response, read from its file as fast as the other side takes it. `ended` is called once,
 * whatever ends it: the last byte, a reader that is gone, a HEAD that wants no body.
 */
export function packageResponse(made: ExportedPackage, request: Request, ended: () => void): Response {
  const headers = {
    'content-type': made.contentType,
    'content-length': String(made.sizeBytes),
    'content-disposition': `attachment; filename="${made.filename}"`,
    'x-content-sha256': made.sha256,
    'x-manifest-sha256': made.manifestSha256,
    'x-openai4s-session-schema': String(made.schemaVersion),
  };
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    ended();
  };
  if (request.method === 'HEAD') {
    end();
    return new Response(null, { headers });
  }
  request.signal.addEventListener('abort', end, { once: true });
  return new Response(streamOf(made, end), { headers });
}

function streamOf(made: ExportedPackage, end: () => void): ReadableStream<Uint8Array> {
  const chunks = made.chunks()[Symbol.iterator]();
  const over = (): void => {
    chunks.return?.();
    end();
  };
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = chunks.next();
        if (!done) return controller.enqueue(value);
        over();
        controller.close();
      },
      cancel: over,
    },
    { highWaterMark: 0 },
  );
}
