// The demo's last screen: each call with its outcome, beside what the billing service really holds.
import type { RunDocument } from './demo.ts';

interface Held {
  readonly credit_note: string;
  readonly order: string;
}

export function closingTable(runs: readonly RunDocument[], held: readonly Held[]): string {
  const rows = runs.flatMap((run) =>
    run.calls.map((call) => [call.tool, shortly(call.arguments), outcomeOf(call), heldFor(call, held)]),
  );
  const table = [['call', 'arguments', 'outcome', 'what billing holds'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  const [head = [], ...body] = table;
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map(line)].join('\n');
}

function shortly(text: string | null): string {
  const shown = text ?? '';
  return shown.length <= 58 ? shown : `${shown.slice(0, 57)}…`;
}

function outcomeOf(call: RunDocument['calls'][number]): string {
  if (call.outcome === 'done') return doneHow(call);
  return call.code === undefined ? (call.outcome ?? 'not started yet') : `${call.outcome ?? ''} (${call.code})`;
}

function heldFor(call: RunDocument['calls'][number], held: readonly Held[]): string {
  if (call.tool !== 'issue_credit_note') return '';
  const order = (JSON.parse(call.arguments ?? '{}') as { order?: string }).order;
  const notes = held.filter((note) => note.order === order).map((note) => note.credit_note);
  return notes.length === 0 ? 'nothing' : `${notes.join(', ')} (exactly ${notes.length})`;
}

function doneHow(call: RunDocument['calls'][number]): string {
  if (call.verified) return 'done, verified';
  if (call.settled_by) return `done, settled by ${call.settled_by.replace('_', ' ')}`;
  return call.status_ref === null ? 'read' : 'done (reported)';
}
