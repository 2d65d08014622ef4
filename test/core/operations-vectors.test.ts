import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  asJsonValue,
  canonicalJson,
  digestJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readStrictJson,
  sha256Hex,
} from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { told } from './refusals.ts';

const file = join(import.meta.dirname, '..', 'vectors', 'operations.json');
const { operations } = JSON_PROFILES;
const vectors = readStrictJson(readFileSync(file), JSON_PROFILES.packages);

function listOf(name: string): JsonObject[] {
  const list = isJsonObject(vectors) ? vectors[name] : undefined;
  assert.ok(Array.isArray(list) && list.every(isJsonObject), name);
  return list;
}

check('each value has the canonical text, the bytes and the digest that the vectors print', () => {
  const list = listOf('canonical_json');
  assert.equal(list.length, 14);
  for (const { id, value, canonical, utf8_bytes, sha256 } of list) {
    const text = canonicalJson(value as JsonValue);
    assert.equal(text, canonical, id as string);
    assert.equal(Buffer.byteLength(text), utf8_bytes, id as string);
    assert.equal(sha256Hex(text), sha256, id as string);
    assert.equal(digestJson(value as JsonValue), sha256, id as string);
  }
});

check('each number that comes as text is spelled as the vectors print it', () => {
  const list = listOf('canonical_numbers_from_text');
  assert.equal(list.length, 11);
  for (const { json_text, canonical } of list)
    assert.equal(canonicalJson(readStrictJson(json_text as string, operations)), canonical);
});

function nested(depth: number): unknown {
  return depth === 0 ? 0 : [nested(depth - 1)];
}

const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));

const OUTSIDE: Readonly<Record<string, readonly [value: unknown, code: string]>> = {
  'integer 2^53': [2 ** 53, 'JSON_NUMBER'],
  infinity: [Number.POSITIVE_INFINITY, 'JSON_NUMBER'],
  'not a number': [Number.NaN, 'JSON_NUMBER'],
  'lone surrogate value': ['\ud800', 'JSON_ENCODING'],
  'lone surrogate key': [{ '\udc00': 1 }, 'JSON_ENCODING'],
  'array of 1025': [Array.from({ length: 1025 }, () => 0), 'JSON_TOO_LARGE'],
  'object of 1025': [members(1025), 'JSON_TOO_LARGE'],
  'string of 65537 code points': ['x'.repeat(65_537), 'JSON_TOO_LARGE'],
  'depth 33': [nested(33), 'JSON_TOO_DEEP'],
  'undefined-like type': [{ a: undefined }, 'JSON_UNSUPPORTED_VALUE'],
  'non-string key': [{ [Symbol('k')]: 1 }, 'JSON_UNSUPPORTED_VALUE'],
};

check('each value outside the domain is refused, given in memory', () => {
  const cases = listOf('json_domain_rejections').map((row) => row['case']);
  assert.deepEqual(cases, Object.keys(OUTSIDE));
  for (const [name, [value, code]] of Object.entries(OUTSIDE))
    assert.equal(told(() => asJsonValue({ name, value }, { ...operations, depth: 33 }))[0], code, name);
});

check('each value at the edge of the domain is accepted, given in memory', () => {
  const edges: Readonly<Record<string, unknown>> = {
    'depth 32 (root at 0)': nested(32),
    'array of 1024': Array.from({ length: 1024 }, () => 0),
    'string of 65536 code points (astral)': '😀'.repeat(65_536),
    'object of 1024': members(1024),
    'integer 2^53 - 1': [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, BigInt(Number.MAX_SAFE_INTEGER)],
  };
  assert.ok(isJsonObject(vectors) && Array.isArray(vectors['json_domain_accepted_edges']));
  for (const name of vectors['json_domain_accepted_edges']) assert.ok(Object.hasOwn(edges, name as string));
  for (const value of Object.values(edges)) assert.equal(asJsonValue(value, operations), value);
});
