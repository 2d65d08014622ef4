import { canonicalJson, displayText, type JsonValue, sentence } from '../core/index.ts';
import type { CallOutcome } from './outcome.ts';

/** The document of an outcome: what `--json`, HTTP, MCP and the ledger's `result` event carry. Snake case, closed. */
export function outcomeDocument(outcome: CallOutcome): { [name: string]: JsonValue } {
  switch (outcome.state) {
    case 'not_started':
      return { outcome: 'not_started', code: outcome.code, reason: outcome.reason, resolve: outcome.resolve };
    case 'done':
      return {
        outcome: 'done',
        output: outcome.output,
        verified: outcome.verified,
        settled_by: outcome.settledBy,
      };
    case 'not_done':
      return { outcome: 'not_done', code: outcome.code, reason: outcome.reason, settled_by: outcome.settledBy };
    case 'unknown':
      return {
        outcome: 'unknown',
        code: outcome.code,
        reason: outcome.reason,
        status_ref: outcome.statusRef,
        resolve: outcome.resolve,
      };
    case 'failed':
      return { outcome: 'failed', code: outcome.code, reason: outcome.reason };
  }
}

/**
 * The text that a model is shown as the tool's answer. A done call shows its output as the tool gave it (canonical
 * JSON; a bare text as itself). Every other outcome begins with its word in capitals, so that no model can take it
 * for success, and says what the model may and may not do.
 */
export function outcomeForModel(outcome: CallOutcome): string {
  switch (outcome.state) {
    case 'not_started':
      return `NOT STARTED (${outcome.code}): ${sentence(outcome.reason)} Nothing was run.`;
    case 'done':
      if (outcome.settledBy === 'person') return 'DONE: a person confirmed that it happened. Its output is not known.';
      return isPlainText(outcome.output) ? outcome.output : canonicalJson(outcome.output);
    case 'not_done':
      return `NOT DONE (${outcome.code}): ${sentence(outcome.reason)} It is known that it did not happen.`;
    case 'unknown':
      return (
        `OUTCOME UNKNOWN (${outcome.code}): ${sentence(outcome.reason)} It may or may not have happened. ` +
        'Do not repeat it and do not report it as done or as failed; it has to be settled first.'
      );
    case 'failed':
      return `FAILED (${outcome.code}): ${sentence(outcome.reason)} It only reads, so nothing was changed; it may be tried again.`;
  }
}

/** Whether an output is shown as itself: a text that a row can hold. One with a NUL is spelled as JSON. */
export function isPlainText(output: JsonValue): output is string {
  return typeof output === 'string' && !output.includes('\0');
}

/** One line for a person: what a tool, or whoever decided, wrote stands in it as a screen can show it. */
export function outcomeLine(outcome: CallOutcome): string {
  return displayText(lineOf(outcome));
}

function lineOf(outcome: CallOutcome): string {
  switch (outcome.state) {
    case 'not_started':
      return `not started: ${outcome.reason} (${outcome.code}) ${outcome.resolve}`;
    case 'done':
      return outcome.verified ? 'done, verified' : settledLine('done (reported)', outcome.settledBy);
    case 'not_done':
      return settledLine(`not done: ${outcome.reason}`, outcome.settledBy);
    case 'unknown':
      return `unknown: it may or may not have happened. ${outcome.resolve}`;
    case 'failed':
      return `failed: ${outcome.reason} (${outcome.code}); it only reads`;
  }
}

const SETTLED_WORDS = {
  receipt: 'by a receipt',
  status_query: 'by asking the tool',
  observation: 'by looking',
  person: "by a person's verdict",
} as const;

function settledLine(text: string, by: keyof typeof SETTLED_WORDS | null): string {
  return by === null ? text : `${text}, settled ${SETTLED_WORDS[by]}`;
}
