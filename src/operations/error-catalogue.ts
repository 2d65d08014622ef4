/** How one refusal or unknown outcome is told in a result envelope. */
export interface CatalogueEntry {
  readonly category: 'contract' | 'authorization' | 'business' | 'conflict' | 'approval' | 'execution' | 'dependency';
  readonly outcome: 'not_started' | 'unknown';
  readonly status: 'failed' | 'unknown';
  readonly recovery: 'correct_input' | 'human_review' | 'none' | 'query_status' | 'request_approval' | 'retry_after';
  readonly retryAfterMs: number | null;
  /** One fixed text a code, safe to show to a model: it holds nothing of the request. */
  readonly safeMessage: string;
}

const refused = { outcome: 'not_started', status: 'failed', retryAfterMs: null } as const;
const unknown = { outcome: 'unknown', status: 'unknown', retryAfterMs: null } as const;

/** The closed list of codes that an envelope may carry. `SETTLED` is ours; the others are the contracts'. */
export const ERROR_CATALOGUE = {
  UNKNOWN_TOOL: {
    ...refused,
    category: 'contract',
    recovery: 'correct_input',
    safeMessage: 'No writing tool of this name is registered here. Nothing was run.',
  },
  INVALID_ARGUMENTS: {
    ...refused,
    category: 'contract',
    recovery: 'correct_input',
    safeMessage: 'The arguments do not satisfy the input rules of the tool. Nothing was run.',
  },
  NOT_FOUND: {
    ...refused,
    category: 'authorization',
    recovery: 'none',
    safeMessage: 'There is no such object, or you may not act on it. Nothing was run.',
  },
  IDEMPOTENCY_KEY_REQUIRED: {
    ...refused,
    category: 'contract',
    recovery: 'correct_input',
    safeMessage: 'A writing call needs an idempotency key. Nothing was run.',
  },
  CALL_ID_CONFLICT: {
    ...refused,
    category: 'conflict',
    recovery: 'human_review',
    safeMessage: 'This call identity was already used for a different request. Nothing was run.',
  },
  IDEMPOTENCY_CONFLICT: {
    ...refused,
    category: 'conflict',
    recovery: 'human_review',
    safeMessage: 'This idempotency key already belongs to a different request. Nothing was run.',
  },
  BUSINESS_RULE_VIOLATION: {
    ...refused,
    category: 'business',
    recovery: 'human_review',
    safeMessage: 'The present state of the object does not allow this action. Nothing was run.',
  },
  APPROVAL_REQUIRED: {
    ...refused,
    category: 'approval',
    recovery: 'request_approval',
    safeMessage: 'A person has to approve exactly this call first. Nothing was run.',
  },
  APPROVAL_INVALID: {
    ...refused,
    category: 'approval',
    recovery: 'request_approval',
    safeMessage: 'None of the approvals given is valid for exactly this call now. Nothing was run.',
  },
  OUTCOME_UNKNOWN: {
    ...unknown,
    category: 'execution',
    recovery: 'query_status',
    safeMessage: 'It is not known whether this happened. Ask for its status before you try anything like it again.',
  },
  STATUS_CONFLICT: {
    ...unknown,
    category: 'conflict',
    recovery: 'human_review',
    safeMessage: 'The operation of this reference is not the one that was asked about. Its outcome is not told.',
  },
  SETTLED: {
    ...refused,
    category: 'conflict',
    recovery: 'human_review',
    safeMessage: 'The outcome of this operation was settled by a recorded verdict; the key cannot be used again.',
  },
  OUTPUT_CONTRACT_VIOLATION: {
    ...unknown,
    category: 'execution',
    recovery: 'human_review',
    safeMessage: 'The tool answered with something that breaks its output rules; what it did is not known.',
  },
  TIMEOUT_BEFORE_EXECUTE: {
    ...refused,
    category: 'execution',
    recovery: 'retry_after',
    retryAfterMs: 1000,
    safeMessage: 'Time ran out before the call was started. Nothing was run.',
  },
  RATE_LIMIT: {
    ...refused,
    category: 'dependency',
    recovery: 'retry_after',
    retryAfterMs: 1000,
    safeMessage: 'Too many calls at once. Nothing was run.',
  },
  TOOL_ERROR: {
    ...refused,
    category: 'execution',
    recovery: 'human_review',
    safeMessage: 'The tool could not be started. Nothing was run.',
  },
} as const satisfies Record<string, CatalogueEntry>;

export type OutcomeCode = keyof typeof ERROR_CATALOGUE;

export function isOutcomeCode(value: unknown): value is OutcomeCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CATALOGUE, value);
}
