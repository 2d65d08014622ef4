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
  for (const { mayBeIn, search } of SEARCHES) if (mayBeIn(current)) current = replaceAll(current, search);
  return current;
}

/** Whether a text has a secret in it; `[REDACTED]` is none. */
export function containsSecret(text: string): boolean {
  return SEARCHES.some(({ mayBeIn, search }) => mayBeIn(text) && !search(text).next().done);
}

const WORDS_OF_SECRETS =
  /api[_-]?key|access[_-]?token|auth[_-]?token|passw(?:or)?d|secret|credential|private[_-]?key|bearer/i;
const WORD_OF_ASSIGNMENTS = /token/i;
const TOKEN_ANYWHERE = /(?:sk|ark|ghp|gho|github_pat|hf|xox[baprs])[-_][A-Za-z0-9._-]{8}/i;
/**
 * The last two letters of what a token begins with, and what follows. Texts are searched for these several times as fast
 * as for beginnings of several lengths; where they are not, there is no token.
 */
const TOKEN_HINT = /(?:sk|rk|hp|ho|at|hf|x[baprs])[-_][A-Za-z0-9._-]{8}/i;

/**
 * False for the text of a JSON value in which nothing can be a secret, by its shape or by its key, however it is
 * escaped: `redact` leaves the value as it is. True means that it has to be looked at.
 */
export function jsonMayHoldSecret(text: string): boolean {
  return (
    WORDS_OF_SECRETS.test(text) ||
    text.includes('-----BEGIN') ||
    (TOKEN_HINT.test(text) && TOKEN_ANYWHERE.test(text)) ||
    (text.includes('=') && WORD_OF_ASSIGNMENTS.test(text))
  );
}

type Search = (text: string) => Generator<Finding>;

/** A search, and what is quickly seen of a text that has nothing for it: most texts are short and have no secret. */
interface GuardedSearch {
  readonly mayBeIn: (text: string) => boolean;
  readonly search: Search;
}

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

const SECRET_NAME = /API_KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|PRIVATE_KEY/i;
const ASSIGNED = /[^\s#;]+/y;
const BLANKS = /[ \t]*/y;
const [EQUALS, BLANK, TAB, DIGIT_0, DIGIT_9] = [0x3d, 0x20, 0x09, 0x30, 0x39] as const;

/** `NAME=value` where the name says that the value is a secret. Looked for from the `=`, which texts have few of. */
function* assignments(text: string): Generator<Finding> {
  let done = 0;
  for (let sign = text.indexOf('='); sign >= 0; sign = text.indexOf('=', sign + 1)) {
    if (text.charCodeAt(sign + 1) === EQUALS) continue;
    const name = nameBefore(text, sign);
    if (name === undefined || name.from < done || !SECRET_NAME.test(text.slice(name.from, name.to))) continue;
    const at = sign + 1 + (matchHere(BLANKS, text, sign + 1)?.[0].length ?? 0);
    const finding = valueAt(text, at, ASSIGNED);
    if (finding) yield finding;
    done = finding?.to ?? at;
  }
}

/** The whole word that stands before a place, blanks between; undefined for none, or one that begins with a digit. */
function nameBefore(text: string, place: number): { readonly from: number; readonly to: number } | undefined {
  let to = place;
  while (to > 0 && isBlank(text.charCodeAt(to - 1))) to -= 1;
  let from = to;
  while (from > 0 && isWordUnit(text.charCodeAt(from - 1))) from -= 1;
  const first = text.charCodeAt(from);
  return from === to || (first >= DIGIT_0 && first <= DIGIT_9) ? undefined : { from, to };
}

const isBlank = (unit: number): boolean => unit === BLANK || unit === TAB;
const WORD_UNITS: ReadonlySet<number> = new Set(
  Array.from({ length: 128 }, (_, unit) => unit).filter((unit) => /[A-Za-z0-9_]/.test(String.fromCharCode(unit))),
);
const isWordUnit = (unit: number): boolean => WORD_UNITS.has(unit);

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

const BEARER_WORD = /bearer/i;

const SEARCHES: readonly GuardedSearch[] = [
  { mayBeIn: (text) => text.includes('-----BEGIN'), search: privateKeys },
  { mayBeIn: (text) => BEARER_WORD.test(text), search: whole(BEARER) },
  { mayBeIn: (text) => TOKEN_HINT.test(text), search: whole(TOKEN) },
  { mayBeIn: (text) => text.includes('='), search: assignments },
  { mayBeIn: (text) => text.includes(':'), search: keyedValues },
];
