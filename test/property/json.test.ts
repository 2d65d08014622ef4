import fc from 'fast-check';
import {
  canonicalJson,
  compareCodePoints,
  displayText,
  HoldfastError,
  isCanonicalJson,
  JSON_PROFILES,
  plainJson,
  readStrictJson,
  redact,
  redactText,
  containsSecret,
} from '../../src/core/index.ts';
import { assert, check, judged } from '../support/index.ts';
import { anyJson, anyText, spellSomehow } from './json-values.ts';

const { packages } = JSON_PROFILES;

/** Runs a property; a counterexample is the error. */
function holds<T>(property: fc.IProperty<T>, numRuns = 400): void {
  fc.assert(property, { numRuns });
  judged();
}

check('any value comes back from its canonical text, and the text is its own canonical form', () => {
  holds(
    fc.property(anyJson, (value) => {
      const text = canonicalJson(value);
      assert.deepEqual(readStrictJson(text, packages), value);
      assert.deepEqual(readStrictJson(Buffer.from(text), packages), value);
      assert.ok(isCanonicalJson(text, packages));
    }),
  );
});

check('any two texts of one value have one canonical form', () => {
  holds(
    fc.property(anyJson, fc.infiniteStream(fc.nat()), (value, stream) => {
      const choose = (below: number): number => (stream.next().value ?? 0) % below;
      const text = spellSomehow(value, choose);
      assert.equal(canonicalJson(readStrictJson(text, packages)), canonicalJson(value), text);
    }),
  );
});

check('what JSON.parse understands alike is read alike', () => {
  holds(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(asParsed(plainJson(readStrictJson(text, packages))), asParsed(JSON.parse(text)));
    }),
  );
});

const pieces = fc.constantFrom(
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u',
  'd800',
  '1',
  '-',
  '.',
  'e',
  '0',
  'NaN',
  'true',
  ' ',
  '\ufeff',
  'é',
);

check('a mutated text is read as JSON.parse reads it, or refused with a code', () => {
  const mutated = fc.tuple(anyJson, fc.nat(), fc.nat(3), fc.array(pieces, { maxLength: 3 }));
  holds(
    fc.property(mutated, ([value, place, cut, added]) => {
      const text = canonicalJson(value);
      const at = place % (text.length + 1);
      const mutant = text.slice(0, at) + added.join('') + text.slice(at + cut);
      let read: unknown;
      try {
        read = plainJson(readStrictJson(mutant, packages));
      } catch (error) {
        assert.ok(error instanceof HoldfastError && error.code.startsWith('JSON_'), mutant);
        return;
      }
      assert.deepEqual(asParsed(read), asParsed(JSON.parse(mutant)), mutant);
    }),
    2000,
  );
});

/** As JSON.parse would give it: large integers rounded, zero without a sign. */
function asParsed(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part)));
}

check('any bytes are read or refused with a code', () => {
  holds(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        readStrictJson(bytes, packages);
      } catch (error) {
        assert.ok(error instanceof HoldfastError && error.code.startsWith('JSON_'));
      }
    }),
    2000,
  );
});

check('texts compare by code point as their UTF-8 bytes do', () => {
  holds(
    fc.property(anyText, anyText, (a, b) => {
      assert.equal(Math.sign(compareCodePoints(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

check('canonical JSON as it is displayed is the same value', () => {
  holds(
    fc.property(anyJson, (value) => {
      const shown = displayText(canonicalJson(value));
      assert.equal(canonicalJson(readStrictJson(shown, packages)), canonicalJson(value));
    }),
  );
});

const SECRET_PIECES =
  'sk-abcdefgh|Bearer |abcdefghij|API_KEY|=|"|\'|\\|: |:|password|[REDACTED]|{|}| |\n|#|,|secret|_|x|' +
  '-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----';
const secretPieces = fc.constantFrom(...SECRET_PIECES.split('|'));

check('redaction is a fixed point: a second pass changes nothing and nothing is found any more', () => {
  holds(
    fc.property(fc.array(secretPieces, { maxLength: 14 }), (list) => {
      const once = redactText(list.join(''));
      assert.equal(redactText(once), once);
      assert.equal(containsSecret(once), false, once);
    }),
    5000,
  );
});

check('no text in a redacted value has a secret in it, and redacting again changes nothing', () => {
  const secretive = fc.dictionary(
    fc.constantFrom('password', 'note', 'api_key', 'list'),
    fc.array(secretPieces, { maxLength: 8 }).map((list) => list.join('')),
  );
  holds(
    fc.property(secretive, (value) => {
      const safe = redact(value);
      assert.deepEqual(redact(safe), safe);
      assert.equal(Object.values(safe as object).some(containsSecret), false);
    }),
    1000,
  );
});
