import type { CallView, RunView } from '../app/index.ts';
import type { ShownRequest } from '../approvals/index.ts';
import { type CallOutcome, outcomeLine } from '../calls/index.ts';
import { displayText } from '../core/index.ts';
import type { DamagedRun } from '../runs/index.ts';
import type { Colours } from './output.ts';

const STATUS_WORDS = {
  running: 'running',
  waiting_confirmation: 'waiting for a decision',
  completed: 'completed',
  failed: 'failed',
  stopped: 'stopped',
} as const;

const CUT_WORDS = {
  length: 'its last reply reached the greatest length that the model allows, and its text is not whole',
  content_filter: 'a content filter ended its last reply, and its text is not whole',
  other: 'the model does not say why its last reply ended; its text may not be whole',
} as const;

/** How a run stands, in words: never "failed" alone about something that may have happened. */
export function standingWords(view: Pick<RunView, 'status' | 'outcome' | 'damage' | 'pending'>): string {
  if (view.damage) return 'damaged, outcome unknown';
  if (view.outcome === 'unknown') return `${STATUS_WORDS[view.status]}, outcome unknown`;
  if (view.outcome === 'interrupted') return 'interrupted';
  if (isDecided(view)) return 'waits to be resumed';
  return STATUS_WORDS[view.status];
}

/** An outcome in a line, the command that settles it as it works when it is pasted. */
export function outcomeWords(outcome: CallOutcome, { command }: Pick<Colours, 'command'>): string {
  return outcomeLine('resolve' in outcome ? { ...outcome, resolve: command(outcome.resolve) } : outcome);
}

/** One run in one line. */
export function runRow(view: RunView, colours: Colours): string {
  const isCut = view.cut === null ? '' : `, ${colours.yellow('cut')}`;
  return `${view.runId}  ${painted(view, colours)}${isCut}  ${shortened(displayText(view.task), 60)}`;
}

function painted(view: RunView, colours: Colours): string {
  const words = standingWords(view);
  if (view.outcome === 'unknown' || view.status === 'failed') return colours.red(words);
  return view.status === 'completed' ? colours.green(words) : colours.yellow(words);
}

function shortened(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** A run whole: how it stands, each call with its outcome, and the one command for each thing that waits. */
export function runLines(view: RunView, colours: Colours): readonly string[] {
  return [
    `run ${view.runId}  ${painted(view, colours)}`,
    ...(view.reason === '' ? [] : [`  why: ${colours.command(displayText(view.reason))}`]),
    ...damageLines(view, colours),
    ...(view.goals === null ? [] : [`  goal: ${shortened(displayText(view.goals.mission), 100)}`]),
    ...view.sideBranches.map(sideBranchLine),
    ...(view.olderCalls === null
      ? []
      : [`  older calls: ${colours.command(`holdfast runs show ${view.runId} --before ${view.olderCalls}`)}`]),
    ...view.calls.flatMap((call) => callLines(call, colours)),
    ...summaryLines(view),
    ...supervisionLines(view, colours),
    ...view.pending.flatMap((request) => [
      `  ${colours.yellow('waits')} ${request.tool} ${request.argumentsText}`,
      ...decideLines(request, colours),
    ]),
    ...(view.pending.length > 0 && !isCarriedOut(view)
      ? [`  then: ${colours.command(`holdfast runs resume ${view.runId}`)}`]
      : []),
    ...(mayGoOn(view) ? [`  to go on: ${colours.command(`holdfast runs resume ${view.runId}`)}`] : []),
    ...(view.cut === null ? [] : [`  ${colours.yellow('cut')}: ${CUT_WORDS[view.cut]}`]),
    ...(view.text === '' ? [] : ['', displayText(view.text)]),
  ];
}

/** It waited, and there is nothing left that a person could decide: it was decided, or the time to decide is over. */
/** What no longer fits cannot be allowed: only the other word goes on from here. */
function decideLines({ requestId, digest, outdated }: ShownRequest, { command }: Colours): readonly string[] {
  const how = `${requestId} --digest ${digest}`;
  const reject = command(`holdfast approvals reject ${how}`);
  if (outdated !== null) return [`        outdated: ${outdated}`, `        to be asked anew: ${reject}`];
  return [`        decide: ${command(`holdfast approvals approve ${how}`)}`, `            or: ${reject}`];
}

const isDecided = ({ status, pending }: Pick<RunView, 'status' | 'pending'>): boolean =>
  status === 'waiting_confirmation' && pending.length === 0;

/** A run of its own that nobody carries on by itself, and that no other line says how to carry on. */
const mayGoOn = (view: RunView): boolean =>
  view.parentRunId === null &&
  view.supervision === null &&
  view.damage === null &&
  (isDecided(view) || view.outcome === 'interrupted');

/** A living process has it, and goes on by itself: a guard, or a run with more than one call at once. */
const isCarriedOut = ({ status, outcome }: RunView): boolean => status === 'running' && outcome === null;

/** Nothing of it is moved until the record is mended. */
function damageLines({ damage }: RunView, colours: Colours): readonly string[] {
  if (!damage) return [];
  return [
    `  ${colours.red('damaged')}: ${damage.code}: ${displayText(damage.why)}`,
    `      its process is dead, and it is left as it is; to see what is damaged: ${colours.command('holdfast audit')}`,
  ];
}

/** A run of a list that cannot be shown, in one line. */
export function damagedRow({ runId, code }: Pick<DamagedRun, 'runId' | 'code'>, colours: Colours): string {
  return `${displayText(runId)}  ${colours.red('damaged')}  ${code}; to see it: ${colours.command('holdfast audit')}`;
}

function sideBranchLine({ type, turnsUsed, maxTurns, state, text, cut }: RunView['sideBranches'][number]): string {
  const said = text === '' ? '' : `: ${shortened(displayText(text), 80)}${cut === null ? '' : ' (cut)'}`;
  return `  side branch ${displayText(type)}, ${state}, ${turnsUsed} of ${maxTurns} turns${said}`;
}

/** What was reported and what was seen, apart. */
function summaryLines({ calls: shown, summary }: RunView): readonly string[] {
  const { calls, reportedDone, verified, unknown } = summary;
  if (calls === 0) return [];
  const among = shown.length === calls ? '' : `of ${calls} calls, `;
  return [`  ${among}${reportedDone} reported as done, ${verified} of them verified, ${unknown} unknown`];
}

/** How the supervision ended, what was found, and what was advised about what waits. */
function supervisionLines({ supervision, runId, pending }: RunView, colours: Colours): readonly string[] {
  if (!supervision) return [];
  const { status, reason, stopReason, claimed, reviews, repairs, findings, advice } = supervision;
  const why = [reason, stopReason, claimed && `it claims ${claimed}`].filter(Boolean).join('; ');
  const words = status.replaceAll('_', ' ');
  const waits = new Set(pending.map(({ requestId }) => requestId));
  return [
    `  supervised: ${status === 'verified' ? colours.green(words) : colours.yellow(words)}${why === '' ? '' : ` (${displayText(why)})`}, ${reviews} reviewed, ${repairs} repaired`,
    ...findings.map(
      (one) =>
        `    ${one.severity} ${displayText(one.claim)} [${one.evidence_refs.map(displayText).join(', ')}] ${one.status}`,
    ),
    ...advice
      .filter(({ decision_id }) => waits.has(decision_id))
      .map(
        (one) =>
          `    advice: ${one.outcome ?? 'none yet'}, risk ${one.risk ?? 'unknown'}: ${displayText(one.public_summary ?? '')}`,
      ),
    ...(isLive(status) && pending.length === 0
      ? [`    go on: ${colours.command(`holdfast runs resume ${runId}`)}`]
      : []),
  ];
}

const isLive = (status: string): boolean => ['running', 'candidate', 'reviewing', 'repairing'].includes(status);

function callLines(call: CallView, colours: Colours): readonly string[] {
  const what = `${displayText(call.tool)} ${shortened(displayText(call.argumentsText ?? '(unreadable arguments)'), 100)}`;
  const passed = call.shadow === null ? [] : [`    passed in shadow mode: ${displayText(call.shadow.reason)}`];
  if (!call.outcome) return [`  ${colours.dim('·')} ${what}: not started yet`, ...passed];
  const mark = call.outcome.state === 'done' ? colours.green('✓') : colours.red('✗');
  return [
    `  ${call.outcome.state === 'unknown' ? colours.red('?') : mark} ${what}`,
    `    ${outcomeWords(call.outcome, colours)}${call.retries === 0 ? '' : `, tried ${call.retries + 1} times`}`,
    ...passed,
  ];
}
