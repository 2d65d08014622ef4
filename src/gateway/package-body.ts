import { fail, HoldfastError } from '../core/index.ts';
import type { ReceivedPackage } from '../packages/index.ts';
import type { Token } from '../principals/index.ts';
import type { Principal } from '../sessions/index.ts';
import { requireStillGood } from './authenticate.ts';
import type { GatewayContext } from './context.ts';
import { requirePlain } from './read-body.ts';
import { type Pace, Stopwatch } from './pace.ts';

/** What programs say of a package's bytes. One that says nothing is believed too: what comes is read as hostile anyway. */
const PACKAGE_TYPES: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'application/vnd.openai4s.session+zip',
  'application/zip',
]);

/** Who sends a package, and in which request. */
export interface PackageAsked {
  readonly principal: Principal;
  readonly token: Token;
  readonly request: Request;
}

/**
 * The raw bytes of a request, in the staging folder while `work` looks at them and gone afterwards. They may take longer
 * than other requests, as long as they come. CONTENT_TYPE_UNSUPPORTED, ARCHIVE_TOO_LARGE, TOO_MANY_REQUESTS,
 * PACKAGE_TOO_SLOW, REQUEST_CUT; TOKEN_INVALID where the token is good no more when all of it is there.
 */
export async function withPackageBody<T>(
  gateway: GatewayContext,
  { principal, token, request }: PackageAsked,
  work: (received: ReceivedPackage) => Promise<T>,
): Promise<T> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  if (!PACKAGE_TYPES.has(type.trim().toLowerCase()))
    throw fail('CONTENT_TYPE_UNSUPPORTED', 'This route takes the bytes of a package.', {
      resolve: 'Send the package itself as the body, with Content-Type: application/vnd.openai4s.session+zip.',
    });
  requirePlain(request);
  const announcedBytes = Number(request.headers.get('content-length') ?? 0);
  const { runtime, connections, pace } = gateway;
  connections.unhurry(request);
  return runtime.packages.receive(principal, { announcedBytes, chunks: chunksOf(request, pace) }, async (received) => {
    await requireStillGood(gateway, request, token);
    return work(received);
  });
}

async function* chunksOf({ body }: Request, pace: Pace): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => undefined);
  const watch = new Stopwatch(pace, reject);
  try {
    for (;;) {
      watch.wait();
      const { done, value } = await Promise.race([reader.read(), late]);
      watch.moved();
      if (done) return;
      yield value as Uint8Array;
    }
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw fail('REQUEST_CUT', 'The body ended before all of it was there.', { cause });
  } finally {
    watch.stop();
    // What nobody reads any more is let go of; the answer may still be on its way.
    reader.cancel().catch(() => undefined);
  }
}
