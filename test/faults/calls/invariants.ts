// What must hold after any crash, judged from outside: the other side's log, what the dead process had told, and the
// store as it was opened again. C1 to C11 of the crash harness, as far as one run of the agent can break them.
import type { CallOutcome, RunView } from '../../../src/index.ts';
import { canonicalJson } from '../../../src/core/index.ts';
import { SENT } from './agent.ts';

/** The orders that are credited only once a person allowed it. */
const NEEDS_A_PERSON: readonly string[] = ['A-1', 'A-2'];

/** One line of the other side's log. */
export interface Committed {
  readonly credit_note: string;
  readonly reference: string;
  readonly order: string;
  readonly amount_cents: number;
}

/** An outcome that the process had told its host before it died. */
export interface Told {
  readonly callId: string;
  readonly outcome: CallOutcome;
}

/** A permission request as it is stored. */
export interface Asked {
  readonly callId: string;
  readonly status: string;
}

export interface Evidence {
  readonly told: readonly Told[];
  readonly world: readonly Committed[];
  readonly view: RunView | null;
  readonly requests: readonly Asked[];
  readonly audit: { readonly passed: boolean; readonly problems: readonly string[] };
  /** `reopened`: nothing was settled yet. `finished`: everything that can be known is. */
  readonly when: 'reopened' | 'finished';
}

/** Everything that is wrong; empty when the crash left what it may leave. */
export function violations(evidence: Evidence): string[] {
  return [
    ...once(evidence),
    ...keptAndTrue(evidence),
    ...unknownStays(evidence),
    ...sentAsRecorded(evidence),
    ...allowedOnce(evidence),
    ...wholeStore(evidence),
    ...progress(evidence),
  ];
}

/** C1: the other side saw each key at most once, and each order at most once. */
function once({ world }: Evidence): string[] {
  const twice = (values: readonly string[]): string[] => values.filter((value, i) => values.indexOf(value) !== i);
  return [
    ...twice(world.map((one) => one.reference)).map((key) => `C1: key ${key} was sent twice`),
    ...twice(world.map((one) => one.order)).map((order) => `C1: order ${order} had two effects`),
  ];
}

/** C2: what was told as done is still there, equal. C3: what is done was seen by the other side. */
function keptAndTrue({ told, world, view }: Evidence): string[] {
  const found: string[] = [];
  for (const { callId, outcome } of told) {
    if (outcome.state !== 'done') continue;
    const now = view?.calls.find((call) => call.callId === callId)?.outcome;
    if (now?.state !== 'done' || canonicalJson(now.output) !== canonicalJson(outcome.output))
      found.push(`C2: ${callId} was told as done and is now ${now?.state ?? 'gone'}`);
  }
  for (const call of view?.calls ?? []) {
    if (call.outcome?.state !== 'done') continue;
    if (!world.some((one) => one.order === SENT[call.callId]?.order))
      found.push(`C3: ${call.callId} is done and was never seen`);
  }
  return found;
}

/** C4: what the other side did and nobody recorded is unknown until it is settled, never anything better or worse. */
function unknownStays({ world, view, when }: Evidence): string[] {
  if (when !== 'reopened') return [];
  return world.flatMap((one) => {
    const call = view?.calls.find((each) => SENT[each.callId]?.order === one.order);
    const state = call?.outcome?.state ?? 'nothing';
    return state === 'done' || state === 'unknown' ? [] : [`C4: ${one.order} happened and is shown as ${state}`];
  });
}

/** C5, C7: every call that the other side saw was written down before, with exactly those arguments and that key. */
function sentAsRecorded({ world, view }: Evidence): string[] {
  return world.flatMap((one) => {
    const call = view?.calls.find((each) => SENT[each.callId]?.order === one.order);
    if (!call?.statusRef) return [`C5: ${one.order} was sent and no operation stands for it`];
    const sent = canonicalJson({ order: one.order, amount_cents: one.amount_cents });
    return call.argumentsText === sent ? [] : [`C7: ${one.order} was sent with other arguments than are recorded`];
  });
}

/** C7: what needed a person had used its permission up before it was sent, and nobody is asked twice about one call. */
function allowedOnce({ world, requests }: Evidence): string[] {
  const asked = requests.map(({ callId }) => callId);
  const twice = asked.filter((callId, i) => asked.indexOf(callId) !== i);
  const unallowed = requests.filter(
    ({ callId, status }) => status !== 'used' && world.some((one) => one.order === SENT[callId]?.order),
  );
  const unasked = world.filter(
    (one) => NEEDS_A_PERSON.includes(one.order) && !asked.some((id) => SENT[id]?.order === one.order),
  );
  return [
    ...twice.map((callId) => `C7: a person was asked twice about ${callId}`),
    ...unallowed.map(({ callId, status }) => `C7: ${callId} was sent and its permission is ${status}`),
    ...unasked.map(({ order }) => `C7: ${order} was sent and nobody was asked`),
  ];
}

/** C6, C11: the audit passes: operations, ledgers and runs, and the database's own checks of itself. */
function wholeStore({ audit }: Evidence): string[] {
  return audit.passed ? [] : [`C6: the audit does not pass: ${audit.problems.join('; ')}`];
}

/** C10: in the end everything has a final outcome. */
function progress({ view, when }: Evidence): string[] {
  if (when !== 'finished' || view === null) return [];
  const open = view.calls.filter((call) => !call.outcome || call.outcome.state === 'unknown');
  if (view.status !== 'completed') return [`C10: the run is ${view.status} (${view.reason})`];
  return open.map((call) => `C10: ${call.callId} has no final outcome`);
}
