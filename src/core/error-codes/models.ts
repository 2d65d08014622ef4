import type { ErrorCodeEntry } from './entry.ts';

/** Codes of models and transcripts. A model's turn changes nothing outside, so asking again is always safe. */
export const modelsErrorCodes = {
  MODEL_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Give an AI SDK language model of specification v3 or v4, a function, or a model of Holdfast.',
  },
  MODEL_FAILED: {
    family: 'state',
    http: 502,
    exit: 1,
    retryable: true,
    resolve: "Resume the run; if it fails again, look at the provider's own error, which is the cause of this one.",
  },
  MODEL_STOPPED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: true,
    resolve: 'The turn was stopped or took too long; resume the run.',
  },
  MODEL_REPLY_INVALID: {
    family: 'validation',
    http: 502,
    exit: 1,
    retryable: true,
    resolve: 'Resume the run; a model that keeps answering like this needs another adapter.',
  },
  MODEL_REPLY_TOO_LARGE: {
    family: 'limit',
    http: 502,
    exit: 1,
    retryable: true,
    resolve: 'Resume the run; ask the model for fewer calls or smaller arguments at once.',
  },
  TRANSCRIPT_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Correct the transcript at the place that the message names.',
  },
  TRANSCRIPT_ENDED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Add the missing turn to the transcript, or give the run fewer turns.',
  },
  TRANSCRIPT_MISMATCH: {
    family: 'conflict',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Record the transcript again: the run asked something else than what was recorded.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
