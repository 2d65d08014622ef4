import { createDeflateRaw, deflateRaw, type DeflateRaw } from 'node:zlib';
import { fail } from '../core/index.ts';

/** Content in chunks, each of which is used up before the next one comes: their maker may use one buffer. */
export type Content = AsyncIterable<Uint8Array>;

/** Content up to this size is deflated in one call. The bytes do not depend on it. */
const WHOLE_BYTES = 256 * 1024;
/** What comes out of a stream at a time. The bytes do not depend on it. */
const OUT_BYTES = 256 * 1024;

/**
 * A content deflated at the usual level, off the main thread. Chunks that come out are the caller's own. A small content
 * whose `size` is known is deflated where it lies; ARCHIVE_CHANGED when more comes.
 */
export async function* deflated(content: Content, size?: number): AsyncGenerator<Buffer> {
  const chunks = content[Symbol.asyncIterator]();
  try {
    const { head, isWhole } = await headOf(chunks, size);
    if (isWhole) yield await deflateWhole(head.length === 1 ? (head[0] as Uint8Array) : Buffer.concat(head));
    else yield* deflateStream(head, chunks);
  } finally {
    await chunks.return?.();
  }
}

interface Head {
  readonly head: readonly Uint8Array[];
  readonly isWhole: boolean;
}

/** The first chunks: all there are, or enough of them that more may follow. They are copies, unless one is all. */
async function headOf(chunks: AsyncIterator<Uint8Array>, size: number | undefined): Promise<Head> {
  const head: Uint8Array[] = [];
  for (let bytes = 0; bytes <= WHOLE_BYTES; ) {
    const { done, value } = await chunks.next();
    if (done) return { head, isWhole: true };
    bytes += value.length;
    const isAll = bytes === size && head.length === 0 && bytes <= WHOLE_BYTES;
    head.push(isAll ? value : Buffer.from(value));
    if (isAll) {
      if (!(await chunks.next()).done) throw fail('ARCHIVE_CHANGED', 'A member has more bytes than it had.');
      return { head, isWhole: true };
    }
  }
  return { head, isWhole: false };
}

/** A little more than deflate ever makes of so many bytes, so that its output is one buffer. */
const roomFor = (bytes: number): number => bytes + (bytes >> 8) + 64;

const deflateWhole = (bytes: Uint8Array): Promise<Buffer> =>
  new Promise((settle, reject) => {
    deflateRaw(bytes, { chunkSize: roomFor(bytes.length) }, (error, out) => (error ? reject(error) : settle(out)));
  });

async function* deflateStream(head: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Buffer> {
  const engine = createDeflateRaw({ chunkSize: OUT_BYTES });
  const feeding = feed(engine, head, rest);
  try {
    yield* engine as AsyncIterable<Buffer>;
  } finally {
    engine.destroy();
    await feeding;
  }
}

async function feed(engine: DeflateRaw, head: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): Promise<void> {
  // An engine that is given up never says that it took its input: its closing must end the waiting too.
  const closed = new Promise<void>((settle) => engine.once('close', () => settle()));
  const give = (chunk: Uint8Array): Promise<void> =>
    Promise.race([new Promise<void>((settle) => engine.write(chunk, () => settle())), closed]);
  try {
    for (const chunk of head) if (!engine.destroyed) await give(chunk);
    while (!engine.destroyed) {
      const { done, value } = await rest.next();
      if (done) break;
      if (!engine.destroyed) await give(value);
    }
    if (!engine.destroyed) engine.end();
  } catch (error) {
    engine.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}
