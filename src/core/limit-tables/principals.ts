import type { Limit } from './limit.ts';

/** Bounds of tokens and of the replies that a repeated request gets again. */
export const principalsLimits = {
  tokenPageEntries: { max: 200, unit: 'items', why: 'A page is held in memory and shown whole.' },
  tokenNameCodePoints: { max: 200, unit: 'code points', why: 'A name is shown on one line of a list.' },
  tokenSubjectCodePoints: { max: 200, unit: 'code points', why: 'A subject is written beside everything it does.' },
  tokensPerTenant: { max: 10_000, unit: 'items', why: 'More living tokens than this nobody can look after.' },
  requestKeyCodePoints: {
    max: 200,
    unit: 'code points',
    why: 'A key names one intent; it is stored with each request.',
  },
  keptReplyBytes: { max: 256 * 1024, unit: 'bytes', why: 'The reply to a creating request is kept whole in one row.' },
  keptReplyMs: {
    max: 86_400_000,
    unit: 'ms',
    why: 'A client that repeats a request does so within a day; older replies are forgotten.',
  },
  forgottenReplies: { max: 50, unit: 'items', why: 'Each new reply clears away so many old ones, in the same commit.' },
} as const satisfies Record<string, Limit>;
