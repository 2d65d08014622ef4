import type { Limit } from './limit.ts';

const MIB = 1024 * 1024;

/** Bounds of permission requests, decisions and rules. */
export const approvalsLimits = {
  approvalArgumentsCodePoints: {
    max: MIB,
    unit: 'code points',
    why: 'A person has to be able to look at what is approved; far more than that hides something.',
  },
  approvalRequestsPerGroup: { max: 500, unit: 'items', why: 'More calls than this in one model reply are refused.' },
  approvalTextCodePoints: { max: 4096, unit: 'code points', why: 'A reason or a pattern is read by a person.' },
  approvalNames: { max: 256, unit: 'items', why: 'Roles, subjects and editable fields of one request.' },
  approvalRulesConsidered: {
    max: 2000,
    unit: 'items',
    why: 'Each call is held against every rule of its scopes; more rules than this no person can oversee.',
  },
  approvalExpiresMs: {
    max: 315_360_000_000,
    unit: 'ms',
    why: 'Ten years; what may wait longer waits for ever, and says so.',
  },
  approvalSweepRows: { max: 200, unit: 'items', why: 'One sweep holds the write lock only briefly.' },
} as const satisfies Record<string, Limit>;
