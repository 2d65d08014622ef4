import {
  containsSecret,
  isSecretKey,
  jsonMayHoldSecret,
  JsonNumber,
  redact,
  redactText,
} from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const PEM = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----';

const SECRETS: readonly (readonly [text: string, redacted: string])[] = [
  [`a ${PEM} b`, 'a [REDACTED] b'],
  [`${PEM}\n${PEM}`, '[REDACTED]\n[REDACTED]'],
  ['Authorization: bearer \n abcdefgh', 'Authorization: [REDACTED]'],
  ['use sk-abcdefghijklmnop now', 'use [REDACTED] now'],
  ['ghp_12345678, github_pat_abcdefgh and XOXB-12345678', '[REDACTED], [REDACTED] and [REDACTED]'],
  ['hf_abcdefgh ark-12345678 gho_12345678', '[REDACTED] [REDACTED] [REDACTED]'],
  ...['SK', 'Ark', 'ghp', 'gho', 'github_pat', 'hf', 'xoxa', 'xoxb', 'xoxp', 'xoxr', 'xoxs'].flatMap((begin) =>
    ['-', '_'].map((sign): [string, string] => [`(${begin}${sign}a.B-c_12)`, '([REDACTED])']),
  ),
  ['export OPENAI_API_KEY=abc # why', 'export OPENAI_API_KEY=[REDACTED] # why'],
  ["my_token = 'two words';", "my_token = '[REDACTED]';"],
  ['DB_PASSWORD="a\\"b" x', 'DB_PASSWORD="[REDACTED]" x'],
  ['A=1 SECRETS=x;CREDENTIALS=y', 'A=1 SECRETS=[REDACTED];CREDENTIALS=[REDACTED]'],
  ['password: hunter2 end', 'password: [REDACTED] end'],
  ['{"api_key":"k","b":1}', '{"api_key":"[REDACTED]","b":1}'],
  ['{"access-token": null,"b":1}', '{"access-token": [REDACTED],"b":1}'],
  ["client_secret : 'x y'", "client_secret : '[REDACTED]'"],
  ['{"t":"{\\"privateKey\\": \\"k\\"}"}', '{"t":"{\\"privateKey\\": [REDACTED]}"}'],
];

check('each shape of a secret is found and replaced, and names and keys stay', () => {
  for (const [text, redacted] of SECRETS) {
    assert.equal(containsSecret(text), true, text);
    assert.equal(redactText(text), redacted);
    assert.equal(redactText(redacted), redacted, `${redacted} is a fixed point`);
    assert.equal(containsSecret(redacted), false, redacted);
    assert.equal(jsonMayHoldSecret(JSON.stringify({ text })), true, text);
  }
});

const INNOCENT = [
  '',
  'a sketch-of-things and task-12345678',
  'sk-short',
  'Bearer short',
  '-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----',
  'if token == 1',
  'TOKEN="" and password=',
  'the password is unknown',
  '{"password":"[REDACTED]"}',
  '"API_KEY=[REDACTED]"}',
  '{"t":"{\\"password\\": \\"[REDACTED]\\"}"}',
  'API_KEY="[REDACTED]"',
];

check('what is no secret, or was one and is replaced, stays as it is', () => {
  for (const text of INNOCENT) {
    assert.equal(redactText(text), text);
    assert.equal(containsSecret(text), false, text);
  }
});

check('a placeholder does not shield what follows it', () => {
  assert.equal(redactText('API_KEY=[REDACTED]abc'), 'API_KEY=[REDACTED]');
});

check('a private key that does not end is left to the other patterns', () => {
  assert.equal(containsSecret('-----BEGIN PRIVATE KEY-----\nMIIE'), false);
});

check('keys that end in the name of a secret lose their values, whatever they are', () => {
  for (const key of [
    'api_key',
    'apiKey',
    'llm-api-key',
    'ACCESS_TOKEN',
    'authToken',
    'db_password',
    'passwd',
    'client_secret',
    'credential',
    'privatekey',
  ])
    assert.equal(isSecretKey(key), true, key);
  for (const key of ['keys', 'token', 'secret_name', 'max_tokens', 'password_hint'])
    assert.equal(isSecretKey(key), false, key);
  assert.deepEqual(redact({ api_key: { a: 1 }, list: [{ password: 7, ok: 'sk-abcdefghijklmnop' }] }), {
    api_key: '[REDACTED]',
    list: [{ password: '[REDACTED]', ok: '[REDACTED]' }],
  });
});

check('a tool names further fields, and numbers keep their spelling', () => {
  const value = { IBAN: 'DE00', n: new JsonNumber(1), deep: { iban: [1] }, none: null };
  const safe = redact(value, { secretFields: ['iban'] });
  assert.deepEqual(safe, { IBAN: '[REDACTED]', n: value.n, deep: { iban: '[REDACTED]' }, none: null });
  assert.equal(value.IBAN, 'DE00');
});

check('a further field is found in any case and with - as _, however it was named', () => {
  const value = { 'Card-Number': '4111', card_number: '4111', deep: [{ 'card-NUMBER': 1 }], card: 'gold' };
  const safe = {
    'Card-Number': '[REDACTED]',
    card_number: '[REDACTED]',
    deep: [{ 'card-NUMBER': '[REDACTED]' }],
    card: 'gold',
  };
  for (const field of ['card-number', 'CARD_number'])
    assert.deepEqual(redact(value, { secretFields: [field] }), safe, field);
});

check('a secret in a key is replaced, and __proto__ stays a member', () => {
  const value = JSON.parse('{"sk-abcdefghijklmnop":1,"__proto__":{"password":"x"}}') as Record<string, never>;
  assert.equal(JSON.stringify(redact(value)), '{"[REDACTED]":1,"__proto__":{"password":"[REDACTED]"}}');
});

check('what lies deeper than 48 levels is replaced, not looked into', () => {
  let value: never[] | object = { found: true };
  for (let i = 0; i < 49; i += 1) value = [value];
  assert.match(JSON.stringify(redact(value as never)), /^\[{49}"\[TOO DEEP\]"\]{49}$/);
  assert.deepEqual(redact([[1]], { maxDepth: 1 }), [[1]]);
  assert.deepEqual(redact([[1]], { maxDepth: 0 }), ['[TOO DEEP]']);
});

check('long texts of beginnings without ends are searched in one go', () => {
  const texts = [
    '-----BEGIN PRIVATE KEY-----',
    'password:"',
    'API_KEY=',
    'Bearer ',
    "secret:'\\",
    'TOKEN',
    'a_',
    ' \t',
    'sk-',
    '"\\',
  ];
  for (const text of texts) assert.equal(typeof redactText(text.repeat(400_000 / text.length)), 'string');
  assert.equal(containsSecret(`TOKEN${' '.repeat(200_000)}x`), false);
});
