import type { Limit } from './limit.ts';

const MIB = 1024 * 1024;

/** Bounds of the guard: messages on the wire, and its policy. */
export const guardLimits = {
  guardLineBytes: { max: 16 * MIB, unit: 'bytes', why: 'One message on a line, pictures in base64 included.' },
  guardMessageDepth: {
    max: 128,
    unit: 'levels',
    why: 'Deeper than any message that a tool needs, far from the stack.',
  },
  guardMessageValues: { max: 1_000_000, unit: 'values', why: 'What 16 MiB of ordinary messages hold.' },
  policyToolNameCodePoints: { max: 128, unit: 'code points', why: 'The protocol bounds the names of tools at 128.' },
  policyTools: { max: 1000, unit: 'items', why: 'More tools than any server offers.' },
  policyRules: { max: 500, unit: 'items', why: 'A policy must stay small enough to be read by a person.' },
  policyListItems: { max: 64, unit: 'items', why: 'Names, conditions, targets or approvers in one place of a policy.' },
  policyTextCodePoints: { max: 1024, unit: 'code points', why: 'A path, a pointer or a reason in a policy.' },
  policyTargets: { max: 64, unit: 'items', why: 'What one call may name: a wider claim has unknown scope.' },
  policyHoldSeconds: { max: 604_800, unit: 'seconds', why: 'A call held for a week has nobody waiting for it.' },
  policyTimeoutSeconds: { max: 600, unit: 'seconds', why: 'The longest time-out of any tool.' },
  guardCallsInFlight: { max: 256, unit: 'items', why: 'Calls of one host that wait for their answers at once.' },
  guardWaitMs: { max: 3_600_000, unit: 'ms', why: 'No host keeps a call open for longer than an hour.' },
  guardGraceMs: { max: 5000, unit: 'ms', why: 'Calls under way when their host goes are waited for this long.' },
  guardHeldCalls: { max: 256, unit: 'items', why: 'Calls that wait for a person and may be asked for again.' },
  guardAnswersRemembered: {
    max: 1024,
    unit: 'items',
    why: 'Calls of one host of which a second answer is known as such.',
  },
  guardHttpSessions: { max: 1024, unit: 'items', why: 'Hosts that speak to one guard over HTTP at once.' },
  guardHttpConnections: { max: 1024, unit: 'items', why: 'Each listening host holds one for every stream it reads.' },
  guardStoredOutputBytes: {
    max: 32 * 1024,
    unit: 'bytes',
    why: 'A longer answer goes to the host whole; the ledger keeps its digest.',
  },
} as const satisfies Record<string, Limit>;
