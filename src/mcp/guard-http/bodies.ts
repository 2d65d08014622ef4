import type { IncomingMessage } from 'node:http';

/** The whole body; null where it is longer than `most` bytes, and then the rest of it is not read. */
export async function readBody(message: IncomingMessage, most: number): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of message as AsyncIterable<Uint8Array>) {
    size += part.byteLength;
    if (size > most) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
