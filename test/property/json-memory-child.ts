// Reads texts that build the most from the least, in a heap of fixed size. Prints how each ended, one JSON line.
import { HoldfastError, JSON_PROFILES, readStrictJson } from '../../src/core/index.ts';

const BYTES = 1_000_000;
const GROUP = 100_000;

/** A list of lists of units, of about `BYTES` bytes. */
function full(unit: (i: number) => string): string {
  const groups: string[] = [];
  for (let i = 0, length = 0; length < BYTES; ) {
    const units: string[] = [];
    for (; units.length < GROUP && length < BYTES; i += 1) {
      const text = unit(i);
      units.push(text);
      length += text.length + 1;
    }
    groups.push(`[${units.join(',')}]`);
  }
  return `[${groups.join(',')}]`;
}

const key = (i: number): string => i.toString(36);
const repeated = (text: string): string => text.repeat(BYTES / text.length);

const CASES: Readonly<Record<string, () => string>> = {
  'empty arrays': () => full(() => '[]'),
  'empty objects': () => full(() => '{}'),
  'arrays of one': () => full(() => '[1]'),
  'nested arrays': () => full(() => '['.repeat(60) + ']'.repeat(60)),
  'nested objects': () => full(() => `${'{"":'.repeat(60)}1${'}'.repeat(60)}`),
  'objects of distinct keys': () => full((i) => `{"${key(i)}":1}`),
  'an object of many keys': () => `{${Array.from({ length: 100_000 }, (_, i) => `"${key(i)}":1`).join(',')}}`,
  'integer-like keys': () => full((i) => `{"${i * 1000}":1}`),
  'whole floats': () => full(() => '1e0'),
  'large integers': () => full(() => '9007199254740993'),
  'short escapes': () => full(() => '"\\n"'),
  'one string of escapes': () => `"${repeated('\\u00e9')}"`,
  'one string of quotes': () => `"${repeated('\\"')}"`,
  'only opening brackets': () => repeated('['),
  'only opening braces': () => repeated('{"":'),
  'a string without end': () => `"${repeated('x')}`,
  'only a number': () => repeated('1'),
  'only white space': () => repeated(' '),
  'only backslashes': () => `"${repeated('\\\\')}`,
};

function outcome(text: string): string {
  try {
    readStrictJson(Buffer.from(text), JSON_PROFILES.packages);
    return 'read';
  } catch (error) {
    return error instanceof HoldfastError ? error.code : String(error);
  }
}

console.log(JSON.stringify(Object.fromEntries(Object.entries(CASES).map(([name, text]) => [name, outcome(text())]))));
