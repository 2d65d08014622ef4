import { randomFillSync } from 'node:crypto';

const SECRET_BYTES = 32;

/** A fresh secret that nobody can guess: 256 random bits, as 43 characters of base64url. */
export function newSecret(fill: (bytes: Uint8Array) => void = randomFillSync): string {
  const bytes = Buffer.alloc(SECRET_BYTES);
  fill(bytes);
  return bytes.toString('base64url');
}
