import { fail } from '../core/index.ts';
import type { ReceivedPackage } from '../packages/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { GatewayContext } from './context.ts';

/** What programs say of a package's bytes. One that says nothing is believed too: what comes is read as hostile anyway. */
const PACKAGE_TYPES: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'application/vnd.openai4s.session+zip',
  'application/zip',
]);

/**
 * The raw bytes of a request, in the staging folder while `work` looks at them and gone afterwards.
 * CONTENT_TYPE_UNSUPPORTED, ARCHIVE_TOO_LARGE, TOO_MANY_REQUESTS, REQUEST_CUT.
 */
export async function withPackageBody<T>(
  { runtime }: GatewayContext,
  principal: Principal,
  request: Request,
  work: (received: ReceivedPackage) => Promise<T>,
): Promise<T> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  if (!PACKAGE_TYPES.has(type.trim().toLowerCase()))
    throw fail('CONTENT_TYPE_UNSUPPORTED', 'This route takes the bytes of a package.', {
      resolve: 'Send the package itself as the body, with Content-Type: application/vnd.openai4s.session+zip.',
    });
  const announcedBytes = Number(request.headers.get('content-length') ?? 0);
  return runtime.packages.receive(principal, { announcedBytes, chunks: chunksOf(request) }, work);
}

async function* chunksOf({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body ?? []) yield chunk as Uint8Array;
  } catch (cause) {
    throw fail('REQUEST_CUT', 'The body ended before all of it was there.', { cause });
  }
}
