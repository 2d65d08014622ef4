import { canonicalJson, JSON_PROFILES, JsonNumber, type JsonProfile, readStrictJson } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { refusalOf, told } from './refusals.ts';

const { operations, packages } = JSON_PROFILES;
const read = (text: string | Uint8Array, profile: JsonProfile = packages) => readStrictJson(text, profile);
const brackets = (count: number, inside = '0'): string => '['.repeat(count) + inside + ']'.repeat(count);

check('what is read is what the text says', () => {
  assert.deepEqual(read(' {"a" : [1, -2.5, "x\\n\\u00e9\\ud83d\\ude00", true, false, null, {}, []]} '), {
    a: [1, -2.5, 'x\né😀', true, false, null, {}, []],
  });
  assert.deepEqual(read('"a\\\\"'), 'a\\');
  assert.deepEqual(read('["\\"","\\\\\\"","/"]'), ['"', '\\"', '/']);
  assert.deepEqual(read(Buffer.from('"é"')), 'é');
});

check('a number keeps what a JS number would lose', () => {
  assert.deepEqual(read('[1,0.5,9007199254740991]'), [1, 0.5, Number.MAX_SAFE_INTEGER]);
  assert.equal(read('9007199254740993'), 9007199254740993n);
  const kept = read('[1.0,1E5,-0.0,1e16]');
  assert.ok(Array.isArray(kept) && kept.every((n) => n instanceof JsonNumber));
  assert.deepEqual(
    kept.map((n) => n.text),
    ['1.0', '100000.0', '-0.0', '1e+16'],
  );
  assert.ok(Object.is(read('-0'), 0));
});

check('a number is read to its last digit, however many it has and whatever follows', () => {
  for (let digits = 1; digits <= 20; digits += 1)
    for (const text of ['9'.repeat(digits), `-${'9'.repeat(digits)}`, `1${'0'.repeat(digits - 1)}`]) {
      const whole = Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
      assert.deepEqual(read(`[${text} ,${text}\n, ${text}]`), [whole, whole, whole], text);
      assert.equal(read(text), whole);
      if (digits < 15) assert.equal(read(`${text}.5`), Number(`${text}.5`));
      assert.equal((read(`${text}e2`) as JsonNumber).text, new JsonNumber(Number(`${text}e2`)).text, text);
    }
  assert.deepEqual(read('{"a":0,"b":-1,"c":2E-3}'), { a: 0, b: -1, c: 0.002 });
});

check('a key __proto__ is a member like any other', () => {
  const value = read('{"__proto__":{"polluted":true}}') as object;
  assert.deepEqual(Object.keys(value), ['__proto__']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal('polluted' in value, false);
  assert.equal(canonicalJson(value as never), '{"__proto__":{"polluted":true}}');
});

check('a repeated key is refused, spelled either way, at any depth', () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"\\u0061":1,"a":2}',
    '[{"b":{"a":1,"c":2,"a":1}}]',
    '{"__proto__":1,"__proto__":2}',
  ])
    assert.equal(told(() => read(text))[0], 'JSON_DUPLICATE_KEY', text);
  assert.deepEqual(
    told(() => read('{"a":1, "a":2}')),
    ['JSON_DUPLICATE_KEY', { offset: 8 }],
  );
});

check('numbers that are none are refused with their reason', () => {
  for (const text of ['NaN', 'Infinity', '-Infinity', '{"value":NaN}'])
    assert.deepEqual(
      told(() => read(text)),
      ['JSON_NUMBER', { reason: 'not_finite' }],
      text,
    );
  for (const text of ['1e400', '-1e309', '[1,2e99999]'])
    assert.deepEqual(
      told(() => read(text)),
      ['JSON_NUMBER', { reason: 'overflow' }],
      text,
    );
});

check('integers of the operations profile end at 2^53 - 1', () => {
  assert.equal(read('-9007199254740991', operations), -Number.MAX_SAFE_INTEGER);
  for (const text of ['9007199254740992', '-9007199254740992', '9007199254740993'])
    assert.deepEqual(
      told(() => read(text, operations)),
      ['JSON_NUMBER', { reason: 'integer_range' }],
      text,
    );
  assert.equal(canonicalJson(read('9007199254740992.0', operations)), '9007199254740992.0');
});

check('a number has at most 4300 digits', () => {
  const digits = '7'.repeat(4300);
  assert.equal(read(`-${digits}`), BigInt(`-${digits}`));
  for (const text of [`${digits}7`, `-${digits}7`, `0.${digits}`])
    assert.deepEqual(
      told(() => read(text)),
      ['JSON_TOO_LARGE', { reason: 'digits', max: 4300 }],
    );
});

check('bytes that are not UTF-8, byte order marks and lone surrogates are refused', () => {
  for (const bytes of [[0xff], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xe2, 0x82, 0x22]])
    assert.deepEqual(
      told(() => read(Uint8Array.from(bytes))),
      ['JSON_ENCODING', { reason: 'utf8' }],
      bytes.join(),
    );
  for (const text of ['\ufeff1', Buffer.from('\ufeff{}')])
    assert.deepEqual(
      told(() => read(text)),
      ['JSON_ENCODING', { reason: 'bom' }],
    );
  for (const text of ['"\\ud800"', '"\\ud800x"', '"\\udc00"', '"\\ud83d\\u0041"', '"\ud800"', '{"\\udfff":1}'])
    assert.deepEqual(
      told(() => read(text)),
      ['JSON_ENCODING', { reason: 'lone_surrogate' }],
      text,
    );
});

check('what is not JSON is refused where it stops being JSON', () => {
  const wrong: Readonly<Record<string, number>> = {
    '': 0,
    ' ': 1,
    '[1,]': 3,
    '{"a":1,}': 7,
    "{'a':1}": 1,
    '[1 2]': 3,
    '01': 1,
    '+1': 0,
    '1.': 1,
    '.5': 0,
    '1e': 1,
    '1e+': 1,
    '1.e2': 1,
    '-': 0,
    '-a': 0,
    '0x10': 1,
    '"a\tb"': 2,
    '"\\x41"': 1,
    '"\\u12"': 1,
    '"\\': 1,
    nul: 0,
    truе: 0,
    '[1]//c': 3,
    '[1][2]': 3,
    '{"a"}': 4,
    '{"a":}': 5,
    '{a:1}': 1,
    '{"a":1,2}': 7,
    '[1}': 2,
    '{"a":1]': 6,
    '[': 1,
    '{': 1,
    ']': 0,
    '"unterminated': 13,
    '--1': 0,
    '\u00a01': 0,
    '[,1]': 1,
    '[1,,2]': 3,
  };
  for (const [text, offset] of Object.entries(wrong)) {
    const [code, details] = told(() => read(text));
    assert.deepEqual([code, details?.['offset']], ['JSON_SYNTAX', offset], text);
  }
});

check('a refusal does not repeat the text', () => {
  for (const text of ['{"password":"hunter2",}', '{"hunter2":1,"hunter2":2}', '"hunter2\\q"'])
    assert.doesNotMatch(JSON.stringify(refusalOf(() => read(text))), /hunter2/);
});

check('depth: 32 levels under the root are read, 33 are refused with the word nesting', () => {
  assert.ok(read(brackets(32), operations));
  assert.ok(read(brackets(33, ''), operations));
  assert.deepEqual(
    told(() => read(brackets(33), operations)),
    ['JSON_TOO_DEEP', { max: 32 }],
  );
  assert.deepEqual(
    told(() => read(brackets(34, ''), operations)),
    ['JSON_TOO_DEEP', { max: 32 }],
  );
  const deep = refusalOf(() => read(brackets(4096), operations));
  assert.match(deep.message, /nesting/);
  assert.match(refusalOf(() => read('{"a":'.repeat(4096), operations)).message, /nesting/);
  assert.match(refusalOf(() => read('['.repeat(10_000_000))).message, /nesting/);
});

check('bytes: the bound is in UTF-8 and stands before everything else', () => {
  const spaces = ' '.repeat(65_535);
  assert.equal(read(`1${spaces}`, operations), 1);
  const over: [string, unknown] = ['JSON_TOO_LARGE', { reason: 'bytes', max: 65_536 }];
  assert.deepEqual(
    told(() => read(`1 ${spaces}`, operations)),
    over,
  );
  assert.deepEqual(
    told(() => read(Buffer.from(` 1${spaces}`), operations)),
    over,
  );
  const umlauts = 'é'.repeat(32_767);
  assert.equal(read(`"${umlauts}"`, operations), umlauts);
  assert.deepEqual(
    told(() => read(`"${umlauts}é"`, operations)),
    over,
  );
  assert.deepEqual(
    told(() => read(Buffer.alloc(65_537, 0xff), operations)),
    over,
  );
});

const tight: JsonProfile = {
  name: 'tight',
  bytes: 1000,
  depth: 3,
  stringCodePoints: 4,
  members: 2,
  items: 3,
  values: 6,
  integers: 'any',
};

check('strings are bounded in code points, keys too, however they are spelled', () => {
  assert.equal(read('"😀😀😀😀"', tight), '😀😀😀😀');
  assert.equal(read('"\\ud83d\\ude00\\n\\u0041x"', tight), '😀\nAx');
  for (const text of ['"abcde"', '"😀😀😀😀😀"', '"\\ud83d\\ude00\\n\\u0041xy"', '{"abcde":1}'])
    assert.deepEqual(
      told(() => read(text, tight)),
      ['JSON_TOO_LARGE', { reason: 'string', max: 4 }],
      text,
    );
});

check('members, items and values are bounded at their edge', () => {
  assert.ok(read('{"a":1,"b":{"a":1,"b":2}}', tight));
  assert.deepEqual(
    told(() => read('{"a":1,"b":2,"c":3}', tight)),
    ['JSON_TOO_LARGE', { reason: 'members', max: 2 }],
  );
  assert.ok(read('[1,[1,2],3]', tight));
  assert.deepEqual(
    told(() => read('[1,2,3,4]', tight)),
    ['JSON_TOO_LARGE', { reason: 'items', max: 3 }],
  );
  assert.deepEqual(
    told(() => read('[1,[1,2,3],3]', tight)),
    ['JSON_TOO_LARGE', { reason: 'values', max: 6 }],
  );
  assert.deepEqual(
    told(() => read('[1]', { ...tight, items: 0 })),
    ['JSON_TOO_LARGE', { reason: 'items', max: 0 }],
  );
  assert.deepEqual(
    told(() => read('{"a":1}', { ...tight, members: 0 })),
    ['JSON_TOO_LARGE', { reason: 'members', max: 0 }],
  );
});

check('no profile can ask for more nesting than the reader bears', () => {
  const boundless = { ...packages, depth: Number.POSITIVE_INFINITY };
  assert.ok(read(brackets(256), boundless));
  assert.deepEqual(
    told(() => read(brackets(257), boundless)),
    ['JSON_TOO_DEEP', { max: 256 }],
  );
});
