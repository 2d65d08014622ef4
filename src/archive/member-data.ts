import { crc32, createInflateRaw, type InflateRaw, inflateRawSync } from 'node:zlib';
import { fail, HoldfastError } from '../core/index.ts';
import type { TimeBudget } from './budget.ts';
import { asAlone, OWN_BYTES, ownMemory, passing } from './chunk-memory.ts';
import { isEncrypted } from './directory.ts';
import { CHUNK_BYTES, WHOLE_MEMBER_BYTES } from './limits.ts';
import type { PlacedMember } from './local-headers.ts';
import { printable } from './printable.ts';
import { METHOD } from './records.ts';
import { type ByteSource, readRange } from './source.ts';

/**
 * Reads a member to its end without keeping it: `visit` sees each chunk, which is gone when it returns. Fails as
 * `memberContent` does.
 */
export async function scanMember(
  source: ByteSource,
  member: PlacedMember,
  budget: TimeBudget,
  visit: (chunk: Buffer) => void,
): Promise<void> {
  const content = memberContent(source, member, budget);
  for await (const chunk of member.record.method === METHOD.deflated ? passing(content) : content) visit(chunk);
}

/**
 * A member's content, chunk by chunk. The last chunk is followed by the verdict: the reading fails unless the stream
 * ended exactly at its declared length, used all its input, and has its declared CRC-32. So bytes that were yielded
 * are not to be believed before the generator has ended.
 */
export async function* memberContent(
  source: ByteSource,
  member: PlacedMember,
  budget: TimeBudget,
): AsyncGenerator<Buffer> {
  if (isEncrypted(member.record)) throw refuse(member, 'ARCHIVE_ENCRYPTED', 'is encrypted');
  let length = 0;
  let checksum = 0;
  for await (const chunk of decoded(source, member)) {
    budget.check();
    length += chunk.length;
    if (length > member.size) throw tooLong(member);
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (length < member.size) throw refuse(member, 'ARCHIVE_SIZE', 'is shorter than it declares');
  if (checksum !== member.record.crc32) throw refuse(member, 'ARCHIVE_CRC', 'does not have its declared CRC-32');
}

type MemberRefusal =
  | 'ARCHIVE_ENCRYPTED'
  | 'ARCHIVE_SIZE'
  | 'ARCHIVE_CRC'
  | 'ARCHIVE_STREAM_CORRUPT'
  | 'ARCHIVE_STREAM_TOO_LONG'
  | 'ARCHIVE_STREAM_TRAILING';

function refuse(member: PlacedMember, code: MemberRefusal, says: string, cause?: unknown): HoldfastError {
  const text = `corrupt package member: '${printable(member.name)}' ${says}.`;
  return fail(code, code === 'ARCHIVE_ENCRYPTED' ? text.replace('corrupt', 'encrypted') : text, { cause });
}

const tooLong = (member: PlacedMember, cause?: unknown): HoldfastError =>
  refuse(member, 'ARCHIVE_STREAM_TOO_LONG', 'is longer than it declares', cause);

function decoded(source: ByteSource, member: PlacedMember): AsyncIterable<Buffer> {
  if (member.record.method === METHOD.stored) return compressed(source, member);
  return member.size <= WHOLE_MEMBER_BYTES ? inflateWhole(source, member) : inflateStream(source, member);
}

const compressed = (source: ByteSource, member: PlacedMember): AsyncGenerator<Buffer> =>
  readRange(source, member.dataOffset, member.dataOffset + member.compressedSize);

/** What zlib says about a bad stream, in our words; anything else (a failed read, our own refusal) passes as it is. */
function translate(member: PlacedMember, error: unknown): unknown {
  if (error instanceof HoldfastError || !(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'ERR_BUFFER_TOO_LARGE') return tooLong(member, error);
  const ofZlib = typeof error.code === 'string' && error.code.startsWith('Z_');
  return ofZlib ? refuse(member, 'ARCHIVE_STREAM_CORRUPT', 'has a broken deflate stream', error) : error;
}

function checkInputUsed(member: PlacedMember, engine: InflateRaw): void {
  if (engine.bytesWritten === member.compressedSize) return;
  throw refuse(member, 'ARCHIVE_STREAM_TRAILING', 'has data after the end of its deflate stream');
}

interface InflatedWhole {
  readonly buffer: Buffer;
  readonly engine: InflateRaw;
}

async function* inflateWhole(source: ByteSource, member: PlacedMember): AsyncGenerator<Buffer> {
  const own = ownMemory(member.compressedSize);
  const input = await source.read(member.dataOffset, member.compressedSize, own);
  // Output that shares no memory with others can be given back at once.
  const chunkSize = Math.max(OWN_BYTES, member.size + 1);
  let inflated: InflatedWhole;
  try {
    const options = { maxOutputLength: member.size + 1, chunkSize, info: true };
    inflated = inflateRawSync(input, options) as unknown as InflatedWhole;
  } catch (error) {
    throw translate(member, error);
  } finally {
    own.buffer.transfer(0);
  }
  checkInputUsed(member, inflated.engine);
  if (inflated.buffer.length > 0) yield asAlone(inflated.buffer);
}

async function* inflateStream(source: ByteSource, member: PlacedMember): AsyncGenerator<Buffer> {
  const engine = createInflateRaw({ chunkSize: CHUNK_BYTES });
  const feeding = feed(source, member, engine);
  try {
    for await (const chunk of engine) yield chunk as Buffer;
  } catch (error) {
    throw translate(member, error);
  } finally {
    engine.destroy();
    await feeding;
  }
  checkInputUsed(member, engine);
}

/** Gives the engine its input through two buffers in turn: one is read while the other is inflated. */
async function feed(source: ByteSource, member: PlacedMember, engine: InflateRaw): Promise<void> {
  const end = member.dataOffset + member.compressedSize;
  const buffers = [ownMemory(CHUNK_BYTES), ownMemory(CHUNK_BYTES)] as const;
  // An engine that fails never says that it took its input: its closing must end the waiting too.
  const closed = new Promise<void>((settle) => engine.once('close', () => settle()));
  let taken: Promise<void> = Promise.resolve();
  try {
    for (let at = member.dataOffset, turn = 0; at < end && !engine.destroyed; at += CHUNK_BYTES, turn ^= 1) {
      const chunk = await source.read(at, Math.min(CHUNK_BYTES, end - at), buffers[turn === 0 ? 0 : 1]);
      await Promise.race([taken, closed]);
      if (!engine.destroyed) taken = new Promise((settle) => engine.write(chunk, () => settle()));
    }
    await Promise.race([taken, closed]);
    if (engine.destroyed) return;
    engine.end();
    // The engine said of all its input that it took it: nobody reads from there any more.
    for (const { buffer } of buffers) buffer.transfer(0);
  } catch (error) {
    engine.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}
