import {
  asJsonValue,
  canonicalJson,
  compareCodePoints,
  copyInput,
  copyJson,
  isCanonicalJson,
  isJsonObject,
  JSON_PROFILES,
  keptJson,
  JsonNumber,
  type JsonValue,
  plainJson,
  readCanonicalJson,
  readStrictJson,
  sealJson,
} from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { refusalOf, told } from './refusals.ts';

const { operations, packages } = JSON_PROFILES;
/** Values that no type allows, as a program without types may pass them. */
const untyped = (value: unknown): JsonValue => value as JsonValue;

check('JS numbers: safe integers as integers, all others in the layout of floats', () => {
  const spelled: readonly [number, string][] = [
    [0, '0'],
    [-0, '0'],
    [-17, '-17'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [2 ** 53, '9007199254740992.0'],
    [1e15 + 0.5, '1000000000000000.5'],
    [1e16, '1e+16'],
    [-1.5e300, '-1.5e+300'],
    [0.0001, '0.0001'],
    [0.000012345, '1.2345e-05'],
    [1e-7, '1e-07'],
    [1e-100, '1e-100'],
    [5e-324, '5e-324'],
  ];
  for (const [value, text] of spelled) assert.equal(canonicalJson(value), text);
  assert.equal(canonicalJson(10n ** 30n), `1${'0'.repeat(30)}`);
});

check('bigints have at most 4300 digits', () => {
  assert.equal(canonicalJson(-(10n ** 4300n) + 1n), `-${'9'.repeat(4300)}`);
  for (const value of [10n ** 4300n, -(10n ** 4300n)])
    assert.deepEqual(
      told(() => canonicalJson(value)),
      ['JSON_TOO_LARGE', { reason: 'digits', max: 4300 }],
    );
});

check('keys are sorted by code point, not by UTF-16 unit, and not in the order of integer-like keys', () => {
  assert.equal(
    canonicalJson({ '\uffff': 1, '😀': 2, z: 3, '10': 4, '9': 5 }),
    '{"10":4,"9":5,"z":3,"\uffff":1,"😀":2}',
  );
  assert.equal(canonicalJson({ 'a😀': 1, 'a\ue000': 2, a: 3 }), '{"a":3,"a\ue000":2,"a😀":1}');
  const sorted = ['', 'a', 'a\0', 'aa', '\ud7ff', '\ue000', '\uffff', '😀', '😁', '\u{10ffff}'];
  assert.deepEqual(sorted.toReversed().sort(compareCodePoints), sorted);
});

check('what is not JSON is refused, not dropped or converted', () => {
  class Money {}
  const values = [
    undefined,
    () => 1,
    Symbol('x'),
    new Date(0),
    new Map(),
    new Money(),
    { a: undefined },
    [undefined],
    Array(1),
  ];
  for (const value of values) {
    assert.equal(told(() => canonicalJson(untyped(value)))[0], 'JSON_UNSUPPORTED_VALUE');
    assert.equal(told(() => asJsonValue(value, packages))[0], 'JSON_UNSUPPORTED_VALUE');
  }
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
    assert.deepEqual(
      told(() => canonicalJson([value])),
      ['JSON_NUMBER', { reason: 'not_finite' }],
    );
  for (const value of ['\ud800', { '\udc00': 1 }, `${'x'.repeat(100)}\udc00`])
    assert.deepEqual(
      told(() => canonicalJson(value)),
      ['JSON_ENCODING', { reason: 'lone_surrogate' }],
    );
  assert.equal(canonicalJson(untyped(Object.assign(Object.create(null), { a: 1 }))), '{"a":1}');
});

function nested(depth: number): JsonValue {
  let value: JsonValue = 0;
  for (let i = 0; i < depth; i += 1) value = [value];
  return value;
}

check('nesting ends at 256 levels, so a value that contains itself is refused', () => {
  assert.equal(canonicalJson(nested(256)).length, 513);
  const self: JsonValue[] = [];
  self.push(self);
  for (const value of [nested(257), self]) {
    const refusal = refusalOf(() => canonicalJson(value));
    assert.equal(refusal.code, 'JSON_TOO_DEEP');
    assert.match(refusal.message, /nesting/);
    assert.equal(told(() => asJsonValue(value, packages))[0], 'JSON_TOO_DEEP');
  }
});

check('values given in memory are bounded like texts', () => {
  const tight = { ...packages, stringCodePoints: 2, members: 1, items: 2, values: 3 };
  assert.ok(asJsonValue(['😀😀', 1], tight));
  assert.deepEqual(
    told(() => asJsonValue('abc', tight)),
    ['JSON_TOO_LARGE', { reason: 'string', max: 2 }],
  );
  assert.deepEqual(
    told(() => asJsonValue({ abc: 1 }, tight)),
    ['JSON_TOO_LARGE', { reason: 'string', max: 2 }],
  );
  assert.deepEqual(
    told(() => asJsonValue([1, 2, 3], tight)),
    ['JSON_TOO_LARGE', { reason: 'items', max: 2 }],
  );
  assert.deepEqual(
    told(() => asJsonValue({ a: 1, b: 2 }, tight)),
    ['JSON_TOO_LARGE', { reason: 'members', max: 1 }],
  );
  assert.deepEqual(
    told(() => asJsonValue([1, [1]], tight)),
    ['JSON_TOO_LARGE', { reason: 'values', max: 3 }],
  );
  assert.deepEqual(
    told(() => asJsonValue(2n ** 53n, operations)),
    ['JSON_NUMBER', { reason: 'integer_range' }],
  );
  assert.equal(asJsonValue(2n ** 53n, packages), 2n ** 53n);
  const float = new JsonNumber(1e16);
  assert.equal(asJsonValue(float, operations), float);
});

check('a stored text must be canonical, byte for byte', () => {
  const text = '{"a":[1.0,1e+16],"b":"é"}';
  assert.equal(canonicalJson(readCanonicalJson(text, operations)), text);
  assert.equal(isCanonicalJson(text, operations), true);
  for (const other of ['{"b":1,"a":2}', '{"a": 1}', '1.00', '1E5', '-0', '"\\u00e9"', '"\\/"', ' 1', '[1]\n']) {
    assert.deepEqual(
      told(() => readCanonicalJson(other, operations)),
      ['JSON_NOT_CANONICAL', { reason: 'form' }],
      other,
    );
    assert.equal(isCanonicalJson(other, operations), false, other);
  }
});

check('a stored text that cannot be read is corrupt too, and says with what', () => {
  const refusal = refusalOf(() => readCanonicalJson('{"a":1,"a":1}', operations));
  assert.deepEqual([refusal.code, refusal.details], ['JSON_NOT_CANONICAL', { reason: 'JSON_DUPLICATE_KEY' }]);
  assert.equal(refusal.family, 'corruption');
  assert.equal((refusal.cause as { code: string }).code, 'JSON_DUPLICATE_KEY');
  assert.equal(isCanonicalJson('{', operations), false);
});

check('a plain copy has JS numbers, keeps bigints, and shares nothing', () => {
  const value = readStrictJson('{"a":[1.0,{"b":12345678901234567890}],"__proto__":1.5}', packages);
  const plain = plainJson(value) as { a: [number, { b: bigint }] };
  assert.equal(plain.a[0], 1);
  assert.equal(plain.a[1].b, 12345678901234567890n);
  assert.deepEqual(Object.keys(plain), ['a', '__proto__']);
  plain.a[1].b = 0n;
  assert.match(canonicalJson(value), /12345678901234567890/);
});

check('kept numbers behave as numbers where a program computes or writes them', () => {
  const one = new JsonNumber(1);
  assert.equal(Number(one) + 1, 2);
  assert.equal(JSON.stringify([one]), '[1]');
  assert.equal(isJsonObject(one), false);
  assert.deepEqual(
    told(() => new JsonNumber(Number.NaN)),
    ['JSON_NUMBER', { reason: 'not_finite' }],
  );
  assert.deepEqual(
    [isJsonObject({}), isJsonObject([]), isJsonObject(null), isJsonObject(undefined)],
    [true, false, false, false],
  );
});

const itemsOf = (value: JsonValue): JsonValue[] =>
  (Object.getOwnPropertyDescriptor(value, '__proto__') as PropertyDescriptor).value as JsonValue[];

check('a sealed value keeps its text and cannot be changed anywhere; a copy of it can', () => {
  const text = '{"__proto__":[1.0,{"b":"é"}],"a":9007199254740993}';
  const value = readStrictJson(text, packages);
  assert.ok(isJsonObject(value));
  const sealed = sealJson(value);
  assert.equal(canonicalJson(sealed), text);
  const list = itemsOf(sealed);
  const changes = [
    () => Object.assign(sealed, { a: 1 }),
    () => list.push(2),
    () => Object.assign(list[0] as object, { value: 2 }),
    () => Object.assign(list[1] as object, { b: 'c' }),
  ];
  for (const change of changes) assert.throws(change, TypeError);
  assert.equal(canonicalJson(sealed), text);
  const copy = copyJson(sealed);
  assert.ok(isJsonObject(copy));
  assert.equal(canonicalJson(copy), text);
  copy['a'] = 1;
  itemsOf(copy).pop();
  assert.equal(canonicalJson(copy), '{"__proto__":[1.0],"a":1}');
  assert.equal(canonicalJson(sealed), text);
});

check('what is kept of a sealed value is itself, and of any other a copy', () => {
  const open = { a: [1] };
  const kept = keptJson(open);
  open.a.push(2);
  assert.equal(canonicalJson(kept), '{"a":[1]}');
  const sealed = sealJson({ a: [1] });
  assert.equal(keptJson(sealed), sealed);
  assert.equal(keptJson(7), 7);
});

check('an input is copied with its circles and odd keys, and what is no object or list is as it was', () => {
  const date = new Date(0);
  const input: Record<string, unknown> = {
    list: [1, { b: 2n }],
    date,
    none: Object.assign(Object.create(null), { c: 1 }),
  };
  Object.defineProperty(input, '__proto__', { value: [1], enumerable: true });
  input['self'] = input;
  const copy = copyInput(input) as typeof input;
  assert.notEqual(copy, input);
  assert.deepEqual(copy, input);
  assert.equal(copy['self'], copy);
  assert.equal(copy['date'], date);
  assert.deepEqual(Object.getOwnPropertyDescriptor(copy, '__proto__')?.value, [1]);
  (copy['list'] as unknown[]).pop();
  assert.deepEqual(input['list'], [1, { b: 2n }]);
});

check('what is not JSON is refused before anything of it is sealed', () => {
  const value: { a: JsonValue; b: JsonValue } = { a: [], b: untyped(undefined) };
  assert.deepEqual(refusalOf(() => sealJson(value)).code, 'JSON_UNSUPPORTED_VALUE');
  assert.ok(!Object.isFrozen(value) && !Object.isFrozen(value.a));
});

check('however many keys there are, in whatever order, and however many came before, each stands in its place', () => {
  const names = Array.from({ length: 40 }, (_, i) => `k${(i * 17) % 40}`);
  for (const count of [2, 31, 32, 33, 40]) {
    const keys = names.slice(0, count);
    const members = keys.toSorted().map((key) => `"${key}":"${key}"`);
    assert.equal(canonicalJson(Object.fromEntries(keys.map((key) => [key, key]))), `{${members.join(',')}}`);
  }
  for (let i = 0; i < 1_100; i += 1) {
    const key = `"\n${i}${'x'.repeat(i % 80)}`;
    assert.equal(canonicalJson({ z: 1, [key]: 2 }), `{${JSON.stringify(key)}:2,"z":1}`);
    assert.equal(canonicalJson({ [key]: 2, '!': 1 }), `{"!":1,${JSON.stringify(key)}:2}`);
  }
});
