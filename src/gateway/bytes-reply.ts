import type { ArtifactVersion } from '../sessions/index.ts';

/** How a name that may hold anything stands in a header: RFC 8187. */
const named = (filename: string): string =>
  `attachment; filename*=UTF-8''${encodeURIComponent(filename).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`;

/**
 * Bytes of an artifact as a response: always as something to be saved, never as something that a browser would show or
 * run. They are read as fast as the other side takes them; a content that is damaged ends the reply early.
 */
export function bytesResponse(
  { version, bytes }: { readonly version: ArtifactVersion; readonly bytes: AsyncIterable<Uint8Array> },
  request: Request,
): Response {
  const headers = {
    'content-type': 'application/octet-stream',
    'content-length': String(version.sizeBytes ?? 0),
    'content-disposition': named(version.filename),
    'content-security-policy': 'sandbox',
    'x-content-type-options': 'nosniff',
    'x-content-sha256': version.snapshotSha256 ?? '',
  };
  return new Response(request.method === 'HEAD' ? null : streamOf(bytes), { headers });
}

function streamOf(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
