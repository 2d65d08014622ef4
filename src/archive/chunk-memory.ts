type Chunks = AsyncIterable<Buffer>;

/**
 * Gives a chunk's memory back at once, where the chunk is all of it: reading a large package then leaves no garbage to
 * collect. Only for who owns the chunk and is done with it. Shared memory (a pool, a source's own bytes) is left alone.
 */
function releaseChunk(chunk: Buffer): void {
  const { buffer, byteOffset, byteLength } = chunk;
  const fills = byteOffset === 0 && buffer.byteLength <= byteLength + 1;
  const alone = (fills || ALONE.has(buffer)) && buffer.byteLength > LARGEST_POOL;
  if (alone && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Buffers up to half of Node's pool may share memory with others. */
const LARGEST_POOL = Math.max(Buffer.poolSize, 64 * 1024);

/** What is at least as large shares its memory with nothing. */
export const OWN_BYTES = LARGEST_POOL + 1;

/** Memory that shares nothing with others, however little it is. */
export const ownMemory = (bytes: number): Buffer<ArrayBuffer> => Buffer.from(new ArrayBuffer(bytes));

const ALONE = new WeakSet<ArrayBufferLike>();

/** The chunk, noted as the only view of its memory, though it may not fill it. */
export function asAlone(chunk: Buffer): Buffer {
  ALONE.add(chunk.buffer);
  return chunk;
}

/** The same chunks, each of which is gone when the next one is asked for. Chunks of a source's own bytes are left alone. */
export async function* passing(chunks: Chunks): AsyncGenerator<Buffer> {
  for await (const chunk of passingPieces(chunks)) {
    yield chunk;
    releaseChunk(chunk);
  }
}

/**
 * The same chunks, for streams that give several chunks out of one piece of memory, one after the other: once a chunk of
 * another piece comes, the piece before is gone.
 */
export async function* passingPieces(chunks: Chunks): AsyncGenerator<Buffer> {
  let piece: ArrayBufferLike | null = null;
  for await (const chunk of chunks) {
    if (piece !== null && piece !== chunk.buffer) release(piece);
    piece = chunk.buffer;
    yield chunk;
  }
}

function release(piece: ArrayBufferLike): void {
  if (piece.byteLength > LARGEST_POOL && piece instanceof ArrayBuffer) piece.transfer(0);
}
