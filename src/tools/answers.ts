import { codePointsWithin, fail, isBlank, LIMITS } from '../core/index.ts';
import type { Tool, ToolReceipt, ToolStatus } from './model.ts';

/**
 * Reads what a tool's `status` answered. Only the three forms count; anything else, null included, is `unknown`: an
 * answer that cannot be understood, or that throws when it is read, settles nothing.
 */
export function readStatusAnswer(answer: unknown): ToolStatus {
  try {
    return understood(answer);
  } catch {
    return NOT_UNDERSTOOD;
  }
}

const NOT_UNDERSTOOD: ToolStatus = {
  state: 'unknown',
  reason: 'the tool answered its status in a form that is not known',
};

function understood(answer: unknown): ToolStatus {
  if (typeof answer === 'object' && answer !== null && 'state' in answer) {
    if (answer.state === 'happened') return { state: 'happened', output: 'output' in answer ? answer.output : null };
    if (answer.state === 'not_happened') return { state: 'not_happened' };
    if (answer.state === 'unknown') {
      const reason = 'reason' in answer && typeof answer.reason === 'string' ? answer.reason : null;
      return reason === null ? { state: 'unknown' } : { state: 'unknown', reason: reason.slice(0, 300) };
    }
  }
  return NOT_UNDERSTOOD;
}

/**
 * The receipt that the tool reads out of a valid output; empty where it reads none. Throws `TOOL_INVALID` when the
 * tool's `receipt` fails or gives texts that cannot be stored: the output stands, the receipt does not.
 */
export function receiptOf(tool: Tool, output: unknown, input: unknown): ToolReceipt {
  if (tool.receipt === null) return {};
  let given: ToolReceipt;
  try {
    given = tool.receipt(output, input);
  } catch (cause) {
    throw fail('TOOL_INVALID', `The \`receipt\` of ${tool.name} failed.`, { cause, details: { field: 'receipt' } });
  }
  if (typeof given !== 'object' || given === null) throw badReceipt(tool);
  const texts = ['receiptId', 'downstreamRequestId', 'resourceRevision'] as const;
  const receipt: { -readonly [K in keyof ToolReceipt]: ToolReceipt[K] } = {};
  for (const field of texts) {
    const text: unknown = given[field];
    if (text === undefined) continue;
    if (!isStorable(text)) throw badReceipt(tool);
    receipt[field] = text;
  }
  const at: unknown = given.observedAt;
  if (at === undefined) return receipt;
  if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0 || at > LIMITS.portableUnixSeconds)
    throw badReceipt(tool);
  return { ...receipt, observedAt: at };
}

function badReceipt(tool: Tool): Error {
  return fail('TOOL_INVALID', `The \`receipt\` of ${tool.name} gave a value that cannot be stored.`, {
    details: { field: 'receipt' },
  });
}

function isStorable(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    codePointsWithin(value, LIMITS.identifierCodePoints) &&
    !isBlank(value) &&
    !/[\p{Cc}\p{Cs}]/u.test(value)
  );
}
