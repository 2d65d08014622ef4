import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { fail, sha256Hex } from '../core/index.ts';

/** A pair for signing packages. The private part is a PKCS #8 PEM text and is nobody's but its owner's. */
export interface SigningKey {
  readonly privatePem: string;
  /** `ed25519:` and the 32 bytes of the public key in base64url: what others put into their list of trusted keys. */
  readonly publicText: string;
}

const PREFIX = 'ed25519:';
/** An Ed25519 public key as SubjectPublicKeyInfo is these twelve bytes and the key (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Makes a new Ed25519 pair. */
export function newSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const privatePem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  return { privatePem, publicText: publicTextOf(publicKey) };
}

/** Reads a private key from its PEM text; SIGNING_KEY_INVALID for anything but an Ed25519 one. */
export function readPrivateKey(pem: string): { readonly key: KeyObject; readonly publicText: string } {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The cause would quote the key file: it is left out.
    throw fail('SIGNING_KEY_INVALID', 'The key file does not hold a private key in PEM form.');
  }
  if (key.asymmetricKeyType !== 'ed25519') throw fail('SIGNING_KEY_INVALID', 'The key is not an Ed25519 key.');
  return { key, publicText: publicTextOf(createPublicKey(key)) };
}

function publicTextOf(key: KeyObject): string {
  const raw = key.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
  return `${PREFIX}${raw.toString('base64url')}`;
}

/** The public key that a text names, or undefined when the text is not one. */
export function readPublicKey(text: string): KeyObject | undefined {
  if (!/^ed25519:[A-Za-z0-9_-]{43}$/.test(text)) return undefined;
  const raw = Buffer.from(text.slice(PREFIX.length), 'base64url');
  if (raw.length !== 32 || `${PREFIX}${raw.toString('base64url')}` !== text) return undefined;
  try {
    return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

/** A short name of a public key for people: the first 16 hex digits of the SHA-256 of its text. */
export function keyFingerprint(publicText: string): string {
  return sha256Hex(publicText).slice(0, 16);
}
