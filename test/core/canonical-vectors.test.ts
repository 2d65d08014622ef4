import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, HoldfastError, JSON_PROFILES, readStrictJson, sha256Hex } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

interface Vector {
  readonly id: string;
  readonly tag: string;
  readonly input: string;
  readonly outcome: 'ok' | 'parse-error' | 'unencodable';
  readonly strict_json?: boolean;
  readonly canonical_hex?: string;
  readonly sha256?: string;
}

const file = join(import.meta.dirname, '..', 'vectors', 'canonical-json.json');
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: Vector[] };
const canonical = (text: string): string => canonicalJson(readStrictJson(text, JSON_PROFILES.packages));

/** What the strict reader refuses although the program that printed the vectors accepts it, with the code. */
const REFUSED_TAGS: Readonly<Record<string, string>> = {
  'duplicate-key': 'JSON_DUPLICATE_KEY',
  'not-finite': 'JSON_NUMBER',
};

function refusedHere(vector: Vector): string | undefined {
  if (vector.outcome === 'unencodable') return 'JSON_ENCODING';
  if (vector.outcome === 'ok' && vector.strict_json) return REFUSED_TAGS[vector.tag];
  return vector.outcome === 'ok' ? 'JSON_NUMBER' : 'any';
}

function codeOf(text: string): string {
  try {
    canonical(text);
  } catch (error) {
    return error instanceof HoldfastError ? error.code : String(error);
  }
  return 'accepted';
}

check('there are 245 vectors', () => {
  assert.equal(vectors.length, 245);
});

check('every accepted vector has exactly the bytes and the digest of the contracts', () => {
  const accepted = vectors.filter((vector) => refusedHere(vector) === undefined);
  assert.equal(accepted.length, 195);
  for (const { id, input, canonical_hex, sha256 } of accepted) {
    const text = canonical(input);
    assert.equal(Buffer.from(text).toString('hex'), canonical_hex, id);
    assert.equal(sha256Hex(text), sha256, id);
    assert.equal(canonical(text), text, `${id}: the canonical form is its own`);
  }
});

check('every refused vector is refused with a code, also the kinds that the other program accepts', () => {
  for (const vector of vectors) {
    const expected = refusedHere(vector);
    if (expected === undefined) continue;
    const code = codeOf(vector.input);
    if (expected === 'any') assert.match(code, /^JSON_(SYNTAX|ENCODING|NUMBER|TOO_LARGE)$/, vector.id);
    else assert.equal(code, expected, vector.id);
  }
});
