import { containsSecret, isJsonObject, isSecretKey, type JsonValue, REDACTED } from '../../core/index.ts';
import { aboutFile, type Finding } from '../finding.ts';
import { MANIFEST_NAME } from '../manifest.ts';
import type { SessionPackage } from '../package.ts';

/** How much text is looked at in one piece, and how far the next piece reaches back into it. */
const WINDOW = 512 * 1024;
const OVERLAP = 64 * 1024;
/** How far it reaches back where a block began that has not ended. */
const OPEN_BLOCK = 2 * 1024 * 1024;
/** Bytes that become text at a time: texts of this size leave no garbage outside the heap. */
const PIECE = 256 * 1024;

/** What whoever looks for secrets knows beyond their shapes. */
export interface SecretScan {
  /** Texts that are secrets whatever they look like. */
  readonly known?: readonly string[];
  /** Digests of contents that were looked through before, with the same knowledge. */
  readonly lookedAt?: ReadonlySet<string>;
}

/** Looks for secrets in every file but the manifest, as text, whatever its bytes are; names the files, never a value. */
export async function scanForSecrets(pkg: SessionPackage, { known, lookedAt }: SecretScan = {}): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [path, { sha256 }] of pkg.files)
    if (path !== MANIFEST_NAME && !lookedAt?.has(sha256) && (await bytesHoldSecret(pkg.passing(path), known)))
      findings.push(aboutFile('PACKAGE_SECRET', 'secret material in', path));
  return findings;
}

/**
 * Whether bytes, read as text whatever they are, hold something shaped like a secret, or one of the `known` texts. All
 * of them are read, in windows that overlap; bytes that are no text are left out and hide nothing.
 */
export async function bytesHoldSecret(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  known: readonly string[] = [],
): Promise<boolean> {
  const decoder = new TextDecoder();
  let text = '';
  let found = false;
  for await (const chunk of content)
    for (let at = 0; at < chunk.length && !found; at += PIECE) {
      text += decoder.decode(chunk.subarray(at, at + PIECE), { stream: true }).replaceAll('\ufffd', '');
      if (text.length < WINDOW) continue;
      found = textHoldsSecret(text, known);
      text = overlapOf(text);
    }
  return found || textHoldsSecret(text + decoder.decode().replaceAll('\ufffd', ''), known);
}

const textHoldsSecret = (text: string, known: readonly string[]): boolean =>
  containsSecret(text) || known.some((secret) => text.includes(secret));

const BEGIN = '-----BEGIN ';

/**
 * What is kept of a piece for the next: about an overlap, from where a word begins, so that no half word looks like a
 * whole one; where there is no such place, a mark in front says that the word began before.
 */
function overlapOf(text: string): string {
  // Most texts have none, and looking from the front is the faster way to see it.
  const begun = text.includes(BEGIN) ? text.lastIndexOf(BEGIN) : -1;
  const isOpen = begun >= 0 && text.length - begun < OPEN_BLOCK && !text.includes('-----END ', begun);
  if (isOpen && begun < text.length - OVERLAP) return text.slice(begun);
  const tail = text.slice(-OVERLAP);
  const boundary = /[^A-Za-z0-9_](?=[A-Za-z0-9_])/.exec(tail);
  return boundary ? tail.slice(boundary.index + 1) : `_${tail}`;
}

const HARMLESS: ReadonlySet<JsonValue> = new Set<JsonValue>([null, false, '', REDACTED, '<redacted>']);

/** True when a member whose key names a secret holds more than nothing. The bounds of the reader bound the recursion. */
export function holdsNamedSecret(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(holdsNamedSecret);
  if (!isJsonObject(value)) return false;
  for (const key of Object.keys(value)) {
    const member = value[key] as JsonValue;
    if ((isSecretKey(key) && !HARMLESS.has(member)) || holdsNamedSecret(member)) return true;
  }
  return false;
}
