import { createDeflateRaw, deflateRaw, type DeflateRaw } from 'node:zlib';

/** Content in chunks, each of which is used up before the next one is asked for: their maker may use one buffer. */
export type Content = AsyncIterable<Uint8Array>;

/** Content up to this size is deflated in one call. The bytes do not depend on it. */
const WHOLE_BYTES = 256 * 1024;
/** What comes out of a stream at a time. The bytes do not depend on it. */
const OUT_BYTES = 256 * 1024;

/** A content deflated at the usual level, off the main thread. Chunks that come out are the caller's own. */
export async function* deflated(content: Content): AsyncGenerator<Buffer> {
  const chunks = content[Symbol.asyncIterator]();
  try {
    const { head, isWhole } = await headOf(chunks);
    if (isWhole) yield await deflateWhole(Buffer.concat(head));
    else yield* deflateStream(head, chunks);
  } finally {
    await chunks.return?.();
  }
}

/** The first chunks, copied: all there are, or enough of them that more may follow. */
async function headOf(chunks: AsyncIterator<Uint8Array>): Promise<{ head: Buffer[]; isWhole: boolean }> {
  const head: Buffer[] = [];
  for (let bytes = 0; bytes <= WHOLE_BYTES; ) {
    const { done, value } = await chunks.next();
    if (done) return { head, isWhole: true };
    head.push(Buffer.from(value));
    bytes += value.length;
  }
  return { head, isWhole: false };
}

/** A little more than deflate ever makes of so many bytes, so that its output is one buffer. */
const roomFor = (bytes: number): number => bytes + (bytes >> 8) + 64;

const deflateWhole = (bytes: Buffer): Promise<Buffer> =>
  new Promise((settle, reject) => {
    deflateRaw(bytes, { chunkSize: roomFor(bytes.length) }, (error, out) => (error ? reject(error) : settle(out)));
  });

async function* deflateStream(head: readonly Buffer[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Buffer> {
  const engine = createDeflateRaw({ chunkSize: OUT_BYTES });
  const feeding = feed(engine, head, rest);
  try {
    yield* engine as AsyncIterable<Buffer>;
  } finally {
    engine.destroy();
    await feeding;
  }
}

async function feed(engine: DeflateRaw, head: readonly Buffer[], rest: AsyncIterator<Uint8Array>): Promise<void> {
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
