import { fail } from '../../core/index.ts';

/** What the layer must know about a text before SQLite sees it. */
export interface StatementText {
  /** The number of `?` in it. */
  readonly params: number;
  readonly writes: boolean;
}

type Token = { readonly kind: 'word'; readonly text: string } | { readonly kind: 'sign'; readonly text: string };

const READING = new Set(['SELECT', 'VALUES', 'EXPLAIN']);
const WRITING = new Set(['INSERT', 'UPDATE', 'DELETE', 'REPLACE']);
/** Pragmas that only report; those with an argument name what they look at. */
const REPORTING = new Set(
  (
    'APPLICATION_ID BUSY_TIMEOUT CACHE_SIZE COMPILE_OPTIONS DATA_VERSION FOREIGN_KEYS FREELIST_COUNT JOURNAL_MODE ' +
    'PAGE_COUNT PAGE_SIZE QUERY_ONLY RECURSIVE_TRIGGERS SCHEMA_VERSION SYNCHRONOUS TRUSTED_SCHEMA USER_VERSION'
  ).split(' '),
);
const INSPECTING = new Set(
  'FOREIGN_KEY_CHECK FOREIGN_KEY_LIST INDEX_INFO INDEX_LIST INTEGRITY_CHECK QUICK_CHECK TABLE_INFO TABLE_LIST TABLE_XINFO'.split(
    ' ',
  ),
);

// One alternative a token; blanks, comments and quoted text first, so that nothing inside them is taken for a sign.
// Letters beyond ASCII belong to words, as in SQLite.
const TOKENS =
  /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[A-Za-z_\x80-\uffff][\w$\x80-\uffff]*|[?:@$#][\w:$\x80-\uffff]*|[^]/g;
const WORD_START = /[A-Za-z_\x80-\uffff]/;

function* tokensOf(text: string): Generator<Token> {
  for (const [token] of text.matchAll(TOKENS)) {
    const first = token[0] ?? '';
    if (/\s/.test(first) || token.startsWith('--') || token.startsWith('/*')) continue;
    if (WORD_START.test(first)) yield { kind: 'word', text: token.toUpperCase() };
    else yield { kind: 'sign', text: /['"`[]/.test(first) ? first : token };
  }
}

function refuse(why: string): never {
  throw fail('STORE_SQL_REFUSED', `The statement was refused: ${why}.`);
}

function countParams(tokens: readonly Token[]): number {
  let params = 0;
  for (const { kind, text } of tokens) {
    if (kind !== 'sign') continue;
    if (text === '?') params += 1;
    else if (/^[?:@$#]/.test(text)) refuse('only positional parameters are taken');
  }
  return params;
}

function oneStatement(text: string): Token[] {
  const tokens = [...tokensOf(text)];
  if (tokens.at(-1)?.text === ';') tokens.pop();
  if (tokens.some((token) => token.text === ';')) refuse('a text holds one statement');
  return tokens;
}

function checkPragma([, name, after]: readonly Token[]): void {
  const word = name?.text ?? '';
  const reports = REPORTING.has(word) && after === undefined;
  const inspects = INSPECTING.has(word) && (after === undefined || after.text === '(');
  if (!reports && !inspects) refuse('this pragma is not one that only reports');
}

/**
 * The text as it is given to SQLite: each `?` as `+?`, which is the same value. Of a bare parameter that is compared in a
 * join or beside an ORDER BY, SQLite notes that the plan might depend on its value, and prepares the statement anew each
 * time one is bound, which costs ten times as much as running it.
 */
export function plannedOnce(text: string): string {
  return text.replace(TOKENS, (token) => (token === '?' ? '+?' : token));
}

/** `WITH` opens reads and writes alike; `replace(` is the function of that name. */
function withWrites(tokens: readonly Token[]): boolean {
  return tokens.some(({ kind, text }, i) => kind === 'word' && WRITING.has(text) && tokens[i + 1]?.text !== '(');
}

/**
 * Reads a text once, before it is prepared: the driver would ignore a second statement and take a missing parameter
 * for NULL without a word. @throws STORE_SQL_REFUSED
 */
export function readStatementText(text: string): StatementText {
  if (text.includes('\0')) refuse('it holds a NUL character');
  const tokens = oneStatement(text);
  const params = countParams(tokens);
  const verb = tokens[0]?.text ?? '';
  if (READING.has(verb)) return { params, writes: false };
  if (WRITING.has(verb)) return { params, writes: true };
  if (verb === 'WITH') return { params, writes: withWrites(tokens) };
  if (verb !== 'PRAGMA') refuse('it is neither a read nor a write of rows');
  checkPragma(tokens);
  return { params, writes: false };
}
