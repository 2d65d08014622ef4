import { sign, verify } from 'node:crypto';
import { keyFingerprint, readPrivateKey, readPublicKey } from '../archive/index.ts';
import {
  canonicalJson,
  fail,
  HoldfastError,
  isJsonObject,
  isSha256Hex,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readStrictJson,
  sha256Hex,
} from '../core/index.ts';
import type { ChainPoint } from '../sessions/index.ts';
import type { SessionHead } from './head.ts';

const FORMAT = 'holdfast-head';
/** What is signed begins with this, so that no other signature of the key is one of a head. */
const SIGNED = 'holdfast-head-v1\n';

/** A head as its file says: what was so, when, and who says it. */
export interface Head {
  readonly madeAt: number;
  readonly tenant: string;
  readonly sessions: readonly SessionHead[];
}

const pointDocument = ({ through, count, sha256 }: ChainPoint): JsonObject => ({ through, count, sha256 });

const sessionDocument = (head: SessionHead): JsonObject => ({
  root_frame_id: head.rootFrameId,
  groups: pointDocument(head.groups),
  events: pointDocument(head.events),
  auto_events: pointDocument(head.autoEvents),
  runs: Object.fromEntries(head.runs),
  decisions: Object.fromEntries(head.decisions),
});

/**
 * A head as the text of its file. With a private key (PEM, Ed25519) it is signed: the key never touches the database,
 * and nobody without it makes another head that passes. SIGNING_KEY_INVALID.
 */
export function writeHead(head: Head, privatePem: string | null): string {
  const body: JsonObject = {
    format: FORMAT,
    version: 1,
    made_at: head.madeAt,
    tenant: head.tenant,
    sessions: head.sessions.map(sessionDocument),
  };
  if (privatePem === null) return `${canonicalJson(body)}\n`;
  const { key, publicText } = readPrivateKey(privatePem);
  const signed = { ...body, public_key: publicText };
  const signature = sign(null, signedBytes(signed), key).toString('base64url');
  return `${canonicalJson({ ...signed, signature })}\n`;
}

const signedBytes = (document: JsonObject): Buffer => Buffer.from(`${SIGNED}${sha256Hex(canonicalJson(document))}`);

/** Whose head it has to be: a public key as `holdfast keys new` shows it, or the private key's own text. */
function publicTextOf(key: string): string {
  const text = key.trim();
  if (readPublicKey(text)) return text;
  return readPrivateKey(key).publicText;
}

/**
 * Reads a head. With a key its signature must be that key's: one that is not signed, or by another key, or changed since,
 * is AUDIT_HEAD_INVALID, and so is a signed one that is read without a key, and whatever is no head.
 */
export function readHead(text: string, key: string | null): Head {
  const document = parse(text);
  const { signature, ...body } = document;
  if (key === null) {
    if (signature !== undefined) throw invalid('it is signed: name the key that it has to be signed with (--key)');
  } else checkSignature(body, signature, publicTextOf(key));
  if (document['format'] !== FORMAT || document['version'] !== 1) throw invalid('it is not a head of version 1');
  const { made_at, tenant, sessions } = document;
  if (!Number.isSafeInteger(made_at) || typeof tenant !== 'string' || !Array.isArray(sessions))
    throw invalid('a field of it is missing');
  return { madeAt: Number(made_at), tenant, sessions: sessions.map(readSession) };
}

function parse(text: string): JsonObject {
  let document: JsonValue;
  try {
    document = readStrictJson(text, JSON_PROFILES.packages);
  } catch (error) {
    if (error instanceof HoldfastError) throw invalid('it cannot be read');
    throw error;
  }
  if (!isJsonObject(document)) throw invalid('it is not an object');
  return document;
}

function checkSignature(body: JsonObject, signature: JsonValue | undefined, wanted: string): void {
  if (typeof signature !== 'string') throw invalid('it is not signed');
  const key = readPublicKey(wanted);
  if (body['public_key'] !== wanted || !key) throw invalid(`it is not signed with the key ${keyFingerprint(wanted)}`);
  if (!verify(null, signedBytes(body), key, Buffer.from(signature, 'base64url')))
    throw invalid('its signature does not fit it');
}

function readSession(value: JsonValue): SessionHead {
  if (!isJsonObject(value) || typeof value['root_frame_id'] !== 'string') throw invalid('a session of it is damaged');
  return {
    rootFrameId: value['root_frame_id'],
    groups: readPoint(value['groups']),
    events: readPoint(value['events']),
    autoEvents: readPoint(value['auto_events']),
    runs: readDigests(value['runs']),
    decisions: readDigests(value['decisions']),
  };
}

function readPoint(value: JsonValue | undefined): ChainPoint {
  if (!isJsonObject(value)) throw invalid('a chain of it is damaged');
  const { through, count, sha256 } = value;
  if (!Number.isSafeInteger(through) || !Number.isSafeInteger(count) || !isSha256Hex(sha256))
    throw invalid('a chain of it is damaged');
  return { through: Number(through), count: Number(count), sha256 };
}

function readDigests(value: JsonValue | undefined): ReadonlyMap<string, string> {
  if (!isJsonObject(value)) throw invalid('a list of it is damaged');
  return new Map(
    Object.entries(value).map(([name, digest]) => {
      if (!isSha256Hex(digest)) throw invalid('a digest of it is damaged');
      return [name, digest];
    }),
  );
}

const invalid = (why: string): Error => fail('AUDIT_HEAD_INVALID', `The head cannot be believed: ${why}.`);
