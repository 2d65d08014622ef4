import type { ArtifactVersion } from '../sessions/index.ts';
import type { GatewayContext } from './context.ts';
import { type Answering, pacedBody } from './paced-reply.ts';

/** How a name that may hold anything stands in a header: RFC 8187. */
const named = (filename: string): string =>
  `attachment; filename*=UTF-8''${encodeURIComponent(filename).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`;

/**
 * Bytes of an artifact as a response: always as something to be saved, never as something that a browser would show or
 * run. They are read as fast as the other side takes them. The last of them are given once the content is proved: one
 * that is damaged is refused where it is one piece, and never comes whole where it is more.
 */
export async function bytesResponse(
  gateway: Pick<GatewayContext, 'connections' | 'pace' | 'log'>,
  { version, bytes }: { readonly version: ArtifactVersion; readonly bytes: AsyncIterable<Uint8Array> },
  answering: Answering,
): Promise<Response> {
  const sizeBytes = version.sizeBytes ?? 0;
  const headers = {
    'content-type': 'application/octet-stream',
    'content-length': String(sizeBytes),
    'content-disposition': named(version.filename),
    'x-content-sha256': version.snapshotSha256 ?? '',
  };
  if (answering.request.method === 'HEAD') return new Response(null, { headers });
  const pieces = await begun(heldBack(bytes));
  return new Response(pacedBody(gateway, answering, { sizeBytes, pieces }), { headers });
}

/** Each piece when the one behind it is there: the last one when nothing is, and the whole is proved. */
async function* heldBack(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let held: Uint8Array | null = null;
  for await (const piece of bytes) {
    if (held !== null) yield held;
    held = piece;
  }
  if (held !== null) yield held;
}

/** The same pieces, the first of them read already: what throws there throws here. */
async function begun(pieces: AsyncGenerator<Uint8Array, undefined>): Promise<AsyncIterator<Uint8Array>> {
  let first: IteratorResult<Uint8Array, undefined> | null = await pieces.next();
  return {
    next: async () => {
      const piece = first ?? (await pieces.next());
      first = null;
      return piece;
    },
    return: () => pieces.return(undefined),
  };
}
