import { outcomeLine } from '../../calls/index.ts';
import { displayText, LIMITS, utcText } from '../../core/index.ts';
import { partOf, type Report, type ReportedCall, type ReportedRequest, type ReportedRun } from './model.ts';

/** One entry of a report as people read it: safe to show, one line each. */
export interface ReportItem {
  readonly title: string;
  readonly notes: readonly string[];
  /** The one command that settles it, or goes on. */
  readonly command: string | null;
}

export interface ReportSection {
  readonly title: string;
  readonly kind: 'good' | 'plain' | 'attention';
  readonly items: readonly ReportItem[];
  /** How many there are beyond those shown. */
  readonly more: number;
}

/** The report in words: what has to be done first, then what ran. Both forms for people are made of this. */
export function reportSections(report: Report): readonly ReportSection[] {
  const calls = (part: string): ReportedCall[] => report.calls.filter((call) => partOf(call) === part);
  const still = report.runs.filter((run) => run.resolve !== null);
  return [
    section('Waits for a decision', 'attention', report.waiting, requestItem),
    section('Unknown: each with the command that settles it', 'attention', calls('unknown'), callItem),
    section('Stands still', 'attention', still, runItem),
    section(
      'What ran',
      'plain',
      report.runs.filter((run) => run.parentRunId === null),
      runItem,
    ),
    section('Verified: its end state was read back and seen', 'good', calls('verified'), callItem),
    section('Only reported: nothing was read back', 'plain', calls('reported'), callItem),
    section('Refused, denied, or not done', 'plain', calls('refused'), callItem),
    section('Not started, or under way', 'plain', calls('open'), callItem),
  ];
}

/** What it was in one line: counts and costs. */
export function reportSummary({ counts, since, madeAt, whole }: Report): readonly string[] {
  const { runs, calls, verified, reported, unknown, refused, waiting, turns, tokens, costMicros } = counts;
  return [
    `From ${utcText(Math.floor(since / 1000))} to ${utcText(Math.floor(madeAt / 1000))}${whole ? '' : ', the newest part of it'}`,
    `${runs} runs, ${calls} calls: ${verified} verified, ${reported} only reported, ${unknown} unknown, ${refused} refused or not done; ${waiting} wait for a decision`,
    `Cost: ${turns} model turns, ${tokens.prompt} tokens asked and ${tokens.completion} answered${costMicros > 0 ? `, ${(costMicros / 1_000_000).toFixed(4)} in your currency` : ''}`,
  ];
}

function section<T>(
  title: string,
  kind: ReportSection['kind'],
  all: readonly T[],
  item: (one: T) => ReportItem,
): ReportSection {
  const shown = all.slice(0, LIMITS.reportShown);
  return { title, kind, items: shown.map(item), more: all.length - shown.length };
}

function callItem({ tool, argumentsText, outcome, runId }: ReportedCall): ReportItem {
  const said = outcome === null ? 'no outcome yet' : outcomeLine(outcome);
  return {
    title: `${displayText(tool)} ${displayText(argumentsText ?? '(unreadable arguments)')}`,
    notes: [displayText(said), `run ${displayText(runId)}`],
    command: outcome?.state === 'unknown' ? displayText(outcome.resolve) : null,
  };
}

function requestItem({ tool, argumentsText, reason, advice, resolve }: ReportedRequest): ReportItem {
  const advised =
    advice === null
      ? []
      : [`advice: ${displayText(advice.outcome)}, risk ${displayText(advice.risk)}: ${displayText(advice.summary)}`];
  return {
    title: `${displayText(tool)} ${displayText(argumentsText)}`,
    notes: [displayText(reason), ...advised],
    command: displayText(resolve),
  };
}

function runItem(run: ReportedRun): ReportItem {
  const words = run.outcome === 'unknown' ? `${run.status}, outcome unknown` : (run.outcome ?? run.status);
  return {
    title: `${displayText(run.runId)}  ${words.replaceAll('_', ' ')}  ${displayText(run.task)}`,
    notes: [...(run.reason === '' ? [] : [displayText(run.reason)]), ...supervisionNotes(run)],
    command: run.resolve,
  };
}

function supervisionNotes({ supervision }: ReportedRun): string[] {
  if (!supervision) return ['not reviewed: its result is only reported'];
  const { status, reason, stopReason, claimed, reviews, repairs, findings } = supervision;
  const why = [reason, stopReason, claimed && `it claims ${claimed}`].filter((one) => one !== null && one !== '');
  return [
    displayText(`result ${status.replaceAll('_', ' ')} (${why.join('; ')}), ${reviews} reviewed, ${repairs} repaired`),
    ...findings.map(({ severity, claim, status: at }) => displayText(`${severity}: ${claim} [${at}]`)),
  ];
}
