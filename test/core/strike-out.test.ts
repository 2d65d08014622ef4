import { canonicalJson, type JsonObject, REDACTED, SecretNames } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const SECRET = new SecretNames(['door_code'], ['wall-safe']);
const WHOLE: JsonObject = {
  to: 'Ada',
  'Door-Code': 'x',
  rooms: [
    { name: 'hall', wall_safe: { left: 1 } },
    { name: 'attic', WALL_SAFE: null },
  ],
};
const SHOWN: JsonObject = {
  to: 'Ada',
  'Door-Code': REDACTED,
  rooms: [
    { name: 'hall', wall_safe: REDACTED },
    { name: 'attic', WALL_SAFE: REDACTED },
  ],
};

check('named fields are struck out at any depth and in any spelling, and nothing else is', () => {
  assert.deepEqual(SECRET.strikeOut(WHOLE), SHOWN);
  const looksSo = { password: 'hunter2', token: `sk-${'a'.repeat(20)}` };
  assert.deepEqual(SECRET.strikeOut(looksSo), looksSo, 'what only looks like a secret is for `redact`');
  for (const plain of ['door_code', 7, null, true]) assert.equal(SECRET.strikeOut(plain), plain);
  const proto = JSON.parse('{"__proto__":{"door_code":1}}') as JsonObject;
  assert.equal(canonicalJson(SECRET.strikeOut(proto)), `{"__proto__":{"door_code":"${REDACTED}"}}`);
});

check('a text is struck out as its value is, and one that cannot be read is struck out whole', () => {
  assert.equal(SECRET.strikeOutOf(canonicalJson(WHOLE)), canonicalJson(SHOWN));
  assert.equal(SECRET.strikeOutOf('{"door_code":'), REDACTED);
  const none = new SecretNames([]);
  assert.ok(none.none && !SECRET.none);
  assert.equal(none.strikeOutOf('{"door_code":'), '{"door_code":');
});
