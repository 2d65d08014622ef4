import { displayText, LIMITS, utcText } from '../core/index.ts';
import type { KnownOutcome, OperationView } from '../operations/index.ts';
import type { Colours } from './output.ts';

export const DEFAULT_LIST_LIMIT = '50';

/** What is known of an operation, for a person. */
const KNOWN_WORDS = {
  not_tried: 'unknown: accepted, and nobody has tried it yet',
  in_progress: 'unknown: a worker may be carrying it out right now',
  unknown: 'unknown: it may or may not have happened',
  done: 'done',
  not_done: 'not done',
} as const satisfies Record<KnownOutcome, string>;

function known(view: OperationView, colours: Colours): string {
  if (view.damage !== null) return colours.red('unknown: its record is damaged');
  const words = KNOWN_WORDS[view.known];
  if (view.known === 'done') return colours.green(words);
  return view.known === 'not_done' ? colours.yellow(words) : colours.red(words);
}

/** One operation in one line. */
export function operationRow(view: OperationView, colours: Colours): string {
  const otherwise = view.otherAnswers.length > 0 ? colours.red('  answered otherwise by another delivery') : '';
  return `${view.statusRef}  ${displayText(view.tool)}  ${known(view, colours)}${otherwise}`;
}

/** An operation whole: what is known, what is not, and what settles it: `first` before a person's verdict. */
export function operationLines(view: OperationView, colours: Colours, first: string): readonly string[] {
  const { verdict, receipt, lateReceipt, otherAnswers, statusRef } = view;
  return [
    `${displayText(view.tool)}  ${known(view, colours)}`,
    `  reference  ${statusRef}`,
    `  arguments  ${displayText(view.argumentsJson)}`,
    `  approved   ${displayText(view.approverId)}`,
    `  key        ${displayText(view.idempotencyKey)}`,
    `  tries      ${view.attempts}`,
    ...(view.known === 'in_progress' && view.leaseUntil !== null
      ? [`  lease      over at ${secondText(view.leaseUntil)}`]
      : []),
    ...(receipt ? [`  receipt    ${displayText(receipt.receiptId)}, ${displayText(receipt.observedAt)}`] : []),
    ...(verdict
      ? [
          `  verdict    ${verdict.verdict} by ${verdict.source} ${displayText(verdict.decidedBy)}: ${displayText(verdict.reason)}`,
        ]
      : []),
    ...(lateReceipt
      ? [`  later      a receipt turned up after the verdict: ${displayText(lateReceipt.receiptId)}`]
      : []),
    ...otherAnswers.map(
      ({ receiptId, resultJson }) =>
        `  otherwise  another delivery answered ${displayText(resultJson)} (${displayText(receiptId)})`,
    ),
    ...(otherAnswers.length > 0 ? ['  look       on the other side, whether it happened more than once'] : []),
    ...settling(view, first, colours),
  ];
}

/** What somebody wrote into the database need not be a second that a calendar has. */
function secondText(seconds: number): string {
  return seconds >= 0 && seconds <= LIMITS.portableUnixSeconds ? utcText(seconds) : String(seconds);
}

function settling(
  { known: word, statusRef, damage }: OperationView,
  first: string,
  { command }: Colours,
): readonly string[] {
  if (damage !== null)
    return [`  damaged    ${displayText(damage)}`, `  to see it  ${command('holdfast operations audit')}`];
  if (word === 'done' || word === 'not_done') return [];
  const byPerson = `holdfast operations settle ${statusRef} --done|--not-done --reason TEXT`;
  return [`  settle it  ${command(first)}`, ...(first === byPerson ? [] : [`         or  ${command(byPerson)}`])];
}
