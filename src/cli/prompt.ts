import * as clack from '@clack/prompts';
import type { ShownRequest } from '../approvals/index.ts';
import { isJsonObject, JSON_PROFILES, type JsonObject, readStrictJson } from '../core/index.ts';

export interface SaidAtPrompt {
  readonly decision: 'approve' | 'reject';
  readonly editedArguments?: JsonObject;
  readonly message?: string;
}

/** Shows one request and asks; null when the person leaves it undecided, or the signal ends the asking. */
export async function askAtPrompt(request: ShownRequest, signal: AbortSignal): Promise<SaidAtPrompt | null> {
  const outdated = request.outdated === null ? '' : `\n${request.outdated} Reject it, to be asked anew.`;
  clack.note(
    `${request.argumentsText}\n\n${request.reason}${outdated}\ndigest ${request.digest}`,
    `${request.tool} wants to run`,
  );
  const answer = await clack.select({
    message: 'May it?',
    signal,
    options: [
      { value: 'approve', label: 'Approve exactly this' },
      ...(request.editable.length > 0
        ? [{ value: 'edit', label: `Approve with changes (${request.editable.join(', ')})` }]
        : []),
      { value: 'reject', label: 'Reject' },
      { value: 'later', label: 'Decide later' },
    ],
  });
  if (clack.isCancel(answer) || answer === 'later') return null;
  if (answer === 'approve') return { decision: 'approve' };
  return answer === 'edit' ? askForEdit(request, signal) : askForReason(signal);
}

async function askForEdit(request: ShownRequest, signal: AbortSignal): Promise<SaidAtPrompt | null> {
  const text = await clack.text({
    message: 'The whole arguments, as they should be',
    signal,
    initialValue: request.argumentsText,
    validate: (value) => (readObject(value ?? '') ? undefined : 'This must be a JSON object.'),
  });
  const editedArguments = clack.isCancel(text) ? null : readObject(text);
  return editedArguments ? { decision: 'approve', editedArguments } : null;
}

function readObject(text: string): JsonObject | null {
  try {
    const value = readStrictJson(text, JSON_PROFILES.operations);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

async function askForReason(signal: AbortSignal): Promise<SaidAtPrompt | null> {
  const message = await clack.text({ message: 'Why not? The model reads it; it may stay empty.', signal });
  if (clack.isCancel(message)) return null;
  return message.trim() === '' ? { decision: 'reject' } : { decision: 'reject', message };
}
