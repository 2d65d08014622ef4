import type { GatewayContext } from './context.ts';
import { Stopwatch } from './pace.ts';
import type { Asked } from './route.ts';

export type Answering = Pick<Asked<unknown, unknown, unknown>, 'request' | 'requestId'>;

export interface PacedBytes {
  readonly sizeBytes: number;
  readonly pieces: Iterator<Uint8Array> | AsyncIterator<Uint8Array>;
  /** Called once, whatever ends it. */
  readonly ended?: () => void;
}

/**
 * Bytes as the body of a response, read as fast as the other side takes them and within the pace of packages: the
 * connection of a reader that takes nothing any more is cut. So is that of an answer that cannot be read to its end, or
 * is not as long as was said: nobody takes a part for the whole, and the log says why.
 */
export function pacedBody(
  { connections, pace, log }: Pick<GatewayContext, 'connections' | 'pace' | 'log'>,
  { request, requestId }: Answering,
  { sizeBytes, pieces, ended }: PacedBytes,
): ReadableStream<Uint8Array> {
  const watch = new Stopwatch(pace, () => connections.cut(request));
  let left = sizeBytes;
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    watch.stop();
    // What it fails to let go of is let go of with the process.
    Promise.resolve(pieces.return?.()).catch(() => undefined);
    ended?.();
  };
  const read = async (): Promise<Uint8Array | null> => {
    const { done, value } = await pieces.next();
    left -= done ? 0 : value.byteLength;
    if (done ? left !== 0 : left < 0) throw new Error('What was read is not as long as it was said to be.');
    return done ? null : value;
  };
  request.signal.addEventListener('abort', end, { once: true });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        watch.moved();
        try {
          const piece = isOver ? null : await read();
          if (piece !== null && !isOver) {
            watch.wait();
            return controller.enqueue(piece);
          }
        } catch (error) {
          log.error('gateway.reply_broken', {
            request_id: requestId,
            error: error instanceof Error ? error : undefined,
          });
          connections.cut(request);
        }
        end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
