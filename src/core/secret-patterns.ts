// The shapes of secrets in text. Every search is linear in the length of the text: the patterns have no nested
// repetition, and what a value or a key block ends with is looked for by hand.

/** What stands where a secret stood. */
export const REDACTED = '[REDACTED]';

/** A stretch of a text that is a secret, and what replaces it. */
interface Finding {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** The text with every secret replaced by `[REDACTED]`; names and keys of assignments stay. A fixed point of itself. */
export function redactText(text: string): string {
  let current = text;
  for (const search of SEARCHES) current = replaceAll(current, search);
  return current;
}

/** Whether a text has a secret in it; `[REDACTED]` is none. */
export function containsSecret(text: string): boolean {
  return SEARCHES.some((search) => !search(text).next().done);
}

type Search = (text: string) => Generator<Finding>;

function replaceAll(text: string, search: Search): string {
  let out = '';
  let done = 0;
  for (const { from, to, by } of search(text)) {
    out += text.slice(done, from) + by;
    done = to;
  }
  return done === 0 ? text : out + text.slice(done);
}

const KEY_BEGIN = /-----BEGIN [A-Za-z0-9 ]{0,64}PRIVATE KEY-----/g;
const KEY_END = /-----END [A-Za-z0-9 ]{0,64}PRIVATE KEY-----/g;

/** A PEM block of a private key, from its BEGIN line to the END line, across lines. */
function* privateKeys(text: string): Generator<Finding> {
  let from = 0;
  for (;;) {
    const begin = matchFrom(KEY_BEGIN, text, from);
    const end = begin && matchFrom(KEY_END, text, begin.index + begin[0].length);
    if (!begin || !end) return;
    from = end.index + end[0].length;
    yield { from: begin.index, to: from, by: REDACTED };
  }
}

function matchFrom(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}

const BEARER = /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi;
const TOKEN = /\b(?:sk|ark|ghp|gho|github_pat|hf|xox[baprs])[-_][A-Za-z0-9._-]{8,}/gi;

/** A whole match is the secret. */
function whole(pattern: RegExp): Search {
  return function* search(text) {
    for (const match of text.matchAll(pattern))
      yield { from: match.index, to: match.index + match[0].length, by: REDACTED };
  };
}

const ASSIGNMENT = /(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*)[ \t]*=(?!=)[ \t]*/g;
const SECRET_NAME = /API_KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|PRIVATE_KEY/i;
const ASSIGNED = /[^\s#;]+/y;

/** `NAME=value` where the name says that the value is a secret. */
function* assignments(text: string): Generator<Finding> {
  let done = 0;
  for (const match of text.matchAll(ASSIGNMENT)) {
    const at = match.index + match[0].length;
    if (match.index < done || !SECRET_NAME.test(match[1] as string)) continue;
    const finding = valueAt(text, at, ASSIGNED);
    if (finding) yield finding;
    done = finding?.to ?? at;
  }
}

const KEYED =
  /(?:api[_-]?key|access[_-]?token|auth[_-]?token|password|passwd|secret|credential|private[_-]?key)(\\{0,64}["'])?[ \t\r\n]{0,64}:[ \t\r\n]{0,64}/gi;
const AFTER_QUOTED_KEY = /[^\s,}\]]+/y;
const AFTER_BARE_KEY = /\S+/y;

/** `key: value` where the key says that the value is a secret, also inside JSON and JSON inside JSON. */
function* keyedValues(text: string): Generator<Finding> {
  let done = 0;
  for (const match of text.matchAll(KEYED)) {
    const at = match.index + match[0].length;
    if (match.index < done) continue;
    const finding = valueAt(text, at, match[1] === undefined ? AFTER_BARE_KEY : AFTER_QUOTED_KEY);
    if (finding) yield finding;
    done = finding?.to ?? at;
  }
}

const REPLACED = /\\{0,64}["']?\[REDACTED\](?![A-Za-z0-9])/y;
const EMPTY = /""|''/y;

/** The value that begins here, unless it is empty or already replaced: quoted, with its quotes kept, or a bare run. */
function valueAt(text: string, at: number, run: RegExp): Finding | undefined {
  if (matchHere(REPLACED, text, at) || matchHere(EMPTY, text, at)) return undefined;
  const quote = text[at];
  if (quote === '"' || quote === "'") {
    const end = closingQuote(text, at + 1, quote);
    if (end !== undefined) return { from: at + 1, to: end, by: REDACTED };
  }
  const bare = matchHere(run, text, at)?.[0];
  return bare === undefined ? undefined : { from: at, to: at + bare.length, by: REDACTED };
}

function matchHere(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

// A quoted secret is short; a quote that does not close within this is taken as part of a bare run.
const QUOTED_UNITS = 65_536;

function closingQuote(text: string, from: number, quote: string): number | undefined {
  const limit = Math.min(text.length, from + QUOTED_UNITS);
  for (let i = from; i < limit; i += 1) {
    if (text[i] === quote) return i;
    if (text[i] === '\\') i += 1;
  }
  return undefined;
}

const SEARCHES: readonly Search[] = [privateKeys, whole(BEARER), whole(TOKEN), assignments, keyedValues];
