import { sign, verify } from 'node:crypto';
import {
  canonicalJson,
  fail,
  isJsonObject,
  isSha256Hex,
  JSON_PROFILES,
  type JsonValue,
  readStrictJson,
} from '../core/index.ts';
import { keyFingerprint, readPrivateKey, readPublicKey } from './keys.ts';
import type { TrustedKeys } from './trusted-keys.ts';

const FORMAT = 'holdfast.signature';
const VERSION = 1;

/** A detached signature of a package, as its file holds it. */
export interface PackageSignature {
  readonly manifestSha256: string;
  /** The signer's public key, as text. */
  readonly key: string;
  /** 64 bytes in base64. */
  readonly signature: string;
}

/** What a signature says about one package. */
export interface SignatureVerdict {
  /**
   * `trusted`: by a key of the list, over this package. `unknown_key`: over this package, by a key that is not listed.
   * `other_package`: over another package. `bad`: the signature does not fit its key and digest.
   */
  readonly state: 'trusted' | 'unknown_key' | 'other_package' | 'bad';
  readonly key: string;
  readonly fingerprint: string;
  /** The name that the list of trusted keys gives the key; null when it gives none. */
  readonly signer: string | null;
  readonly means: string;
}

/** The signed bytes name their purpose, so that a signature made for something else is none for a package. */
function signedBytes(manifestSha256: string): Buffer {
  return Buffer.from(`${FORMAT}/${VERSION}\n${manifestSha256}\n`);
}

/** Signs a package's identity, its manifest digest; gives the text of the signature file. */
export function signPackage(manifestSha256: string, privatePem: string): string {
  const { key, publicText } = readPrivateKey(privatePem);
  const signature = sign(null, signedBytes(manifestSha256), key).toString('base64');
  const document = { algorithm: 'ed25519', format: FORMAT, key: publicText, manifest_sha256: manifestSha256 };
  return `${canonicalJson({ ...document, signature, version: VERSION })}\n`;
}

/** Reads a signature file; SIGNATURE_INVALID for anything that is not exactly one. */
export function readSignature(text: string | Uint8Array): PackageSignature {
  let document: JsonValue;
  try {
    document = readStrictJson(text, { ...JSON_PROFILES.config, name: 'signature', bytes: 4096 });
  } catch (cause) {
    throw fail('SIGNATURE_INVALID', 'The signature file is not strict JSON.', { cause });
  }
  if (!isJsonObject(document)) throw fail('SIGNATURE_INVALID', 'The signature file is not a JSON object.');
  const { algorithm, format, key, manifest_sha256: digest, signature, version, ...others } = document;
  const known = format === FORMAT && version === VERSION && algorithm === 'ed25519' && Object.keys(others).length === 0;
  const shaped = typeof key === 'string' && typeof signature === 'string' && isSha256Hex(digest);
  if (!known || !shaped || !/^[A-Za-z0-9+/]{86}==$/.test(signature))
    throw fail('SIGNATURE_INVALID', `The signature file is not a ${FORMAT} of version ${VERSION}.`);
  return { manifestSha256: digest, key, signature };
}

const MEANS: Readonly<Record<SignatureVerdict['state'], string>> = {
  trusted: 'The owner of this key, whom your list names, signed exactly this package. It does not say that it is true.',
  unknown_key: 'Somebody signed exactly this package, with a key that your list does not name: you do not know who.',
  other_package: 'The signature belongs to another package.',
  bad: 'The signature does not fit: it was damaged, or made by nobody who holds the key it names.',
};

/** Judges a signature for the package with this manifest digest. The package itself must be verified beside it. */
export function judgeSignature(
  signature: PackageSignature,
  manifestSha256: string,
  trusted: TrustedKeys,
): SignatureVerdict {
  const state = stateOf(signature, manifestSha256, trusted);
  const signer = state === 'bad' ? null : (trusted.get(signature.key) ?? null);
  return { state, key: signature.key, fingerprint: keyFingerprint(signature.key), signer, means: MEANS[state] };
}

function stateOf(signature: PackageSignature, digest: string, trusted: TrustedKeys): SignatureVerdict['state'] {
  const key = readPublicKey(signature.key);
  const bytes = Buffer.from(signature.signature, 'base64');
  if (!key || !verify(null, signedBytes(signature.manifestSha256), key, bytes)) return 'bad';
  if (signature.manifestSha256 !== digest) return 'other_package';
  return trusted.has(signature.key) ? 'trusted' : 'unknown_key';
}
