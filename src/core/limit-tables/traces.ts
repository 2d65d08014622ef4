import type { Limit } from './limit.ts';

const MIB = 1024 * 1024;

/** Bounds of run configurations and of the trace stores. */
export const tracesLimits = {
  runNameCodePoints: { max: 255, unit: 'code points', why: 'Names in a run configuration are identifiers.' },
  runNames: {
    max: 1_000,
    unit: 'items',
    why: 'No list of a run configuration can name more tools than a registry has.',
  },
  runPromptCodePoints: { max: MIB, unit: 'code points', why: 'A system prompt is sent with every turn.' },
  runIterations: { max: 10_000, unit: 'times', why: 'Turns of one run; a run that needs more is several runs.' },
  runSideBranchTurns: { max: 1_000, unit: 'times', why: 'A side branch is short by its nature.' },
  runParallelChildren: { max: 64, unit: 'items', why: 'Each child run holds a conversation with a model.' },
  runDecisions: { max: 128, unit: 'items', why: 'One reply of a model has no more calls to decide.' },
  traceIdCodePoints: { max: 128, unit: 'code points', why: 'An id is the name of a folder and begins other names.' },
  traceMetaBytes: { max: 4 * MIB, unit: 'bytes', why: 'One trace with its context is read and written whole.' },
  traceDocumentBytes: { max: 16 * MIB, unit: 'bytes', why: 'One message, event, goal tree or batch is read whole.' },
  traceMessages: { max: 10_000, unit: 'items', why: 'A conversation is read whole to build a prompt.' },
  traceEvents: { max: 100_000, unit: 'items', why: 'Each event of the file home is a file.' },
  traceSequence: { max: 999_999, unit: 'items', why: 'Sequences are six digits in the ids of messages.' },
  traceAttachmentBytes: { max: 16 * MIB, unit: 'bytes', why: 'An attachment is written and read in one piece.' },
  tracePage: { max: 1_000, unit: 'items', why: 'One page of a list of traces, messages or events.' },
  traceLockWaitMs: { max: 5_000, unit: 'ms', why: 'How long a write waits for another process to leave the trace.' },
} as const satisfies Record<string, Limit>;
