import type { ExportedPackage } from '../packages/index.ts';
import type { GatewayContext } from './context.ts';
import { type Answering, pacedBody } from './paced-reply.ts';

/**
 * A finished package as a response, read from its file as fast as the other side takes it. `ended` is called once,
 * whatever ends it: the last byte, a reader that is gone or takes nothing any more (its connection is cut), a HEAD that
 * wants no body.
 */
export function packageResponse(
  gateway: Pick<GatewayContext, 'connections' | 'pace' | 'log'>,
  made: ExportedPackage,
  answering: Answering,
  ended: () => void,
): Response {
  const { sizeBytes } = made;
  const headers = {
    'content-type': made.contentType,
    'content-length': String(sizeBytes),
    'content-disposition': `attachment; filename="${made.filename}"`,
    'x-content-sha256': made.sha256,
    'x-manifest-sha256': made.manifestSha256,
    'x-openai4s-session-schema': String(made.schemaVersion),
  };
  if (answering.request.method === 'HEAD') {
    ended();
    return new Response(null, { headers });
  }
  return new Response(pacedBody(gateway, answering, { sizeBytes, pieces: piecesOf(made), ended }), { headers });
}

/** What is given at a time: who takes so little within the time between two pieces is not gone. */
const PIECE_BYTES = 64 * 1024;

function* piecesOf(made: ExportedPackage): Generator<Uint8Array, undefined> {
  for (const chunk of made.chunks())
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
}
