import type { Limit } from './limit.ts';

const KIB = 1024;

/** Bounds on what a model may send in one turn. */
export const modelsLimits = {
  modelReplyCodeUnits: {
    max: 4 * 1024 * KIB,
    unit: 'code units',
    why: 'Text, reasoning, arguments and metadata of one reply together; far above what any model writes in a turn.',
  },
  modelArgumentsCodeUnits: {
    max: 1024 * KIB,
    unit: 'code units',
    why: 'Raw arguments of one call are held until they are read; above 64 KiB that reading refuses them.',
  },
  modelCallsInReply: { max: 128, unit: 'items', why: 'Each call is stored, shown and perhaps approved by a person.' },
  modelPartsInReply: {
    max: 4_096,
    unit: 'items',
    why: 'Each part is kept with its reply, and given back in its place.',
  },
  modelEventsInReply: { max: 250_000, unit: 'items', why: 'A stream of empty events would never end.' },
  modelCallIdCodePoints: { max: 255, unit: 'code points', why: 'The operations contract for identifiers.' },
  modelToolNameCodePoints: {
    max: 128,
    unit: 'code points',
    why: 'No registered name is longer; invented ones may be.',
  },
  modelMetadataBytes: {
    max: 1024 * KIB,
    unit: 'bytes',
    why: 'Signatures that a provider wants back are a few kilobytes; reasoning that it gives sealed is as long as that.',
  },
  modelReplyTokens: {
    max: 1_000_000_000,
    unit: 'items',
    why: 'Far above any reply and what it was asked with; what is counted over all turns stays a number that can be stored.',
  },
  modelTurnMs: { max: 15 * 60_000, unit: 'ms', why: 'Longer silence of a provider is a failure.' },
  transcriptTurns: { max: 1_000, unit: 'items', why: 'A transcript is written or recorded for one session.' },
} as const satisfies Record<string, Limit>;
