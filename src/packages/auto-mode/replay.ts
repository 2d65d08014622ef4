import { canonicalJson, type JsonObject } from '../../core/index.ts';
import { payloadOf, textOf, textsOf, valueOf } from './scope.ts';
import { CANDIDATE, demand, ENDS, LIVE } from './shapes.ts';

/** What a result is: its name with all that the name stands for. */
type Candidate = Readonly<Record<keyof typeof CANDIDATE, JsonObject[string]>>;

function candidateOf(of: JsonObject): Candidate {
  const fields = Object.entries(CANDIDATE).map(([field, kind]) => [
    field,
    kind === 'texts' ? [...textsOf(of, field)] : valueOf(of, field),
  ]);
  return Object.fromEntries(fields) as Candidate;
}

const same = (a: object | null, b: object | null): boolean =>
  canonicalJson(a as JsonObject | null) === canonicalJson(b as JsonObject | null);

const sameList = (a: readonly string[], b: readonly string[]): boolean => same([...a] as never, [...b] as never);

const isLive = (status: string): boolean => (LIVE as readonly string[]).includes(status);
export const isRepairBinding = (event: JsonObject): boolean =>
  event['type'] === 'repair_started' && payloadOf(event)['phase'] === 'execution_group_bound';
const isReview = (event: JsonObject): boolean => payloadOf(event)['subject_kind'] === 'result_review';

/** The events of one run, told again from the first: where it stands, and what its names ever stood for. */
export class RunReplay {
  status = '';
  candidate: Candidate | null = null;
  terminal: JsonObject | null = null;
  readonly candidates = new Map<string, Candidate>();
  readonly #run: JsonObject;

  constructor(run: JsonObject) {
    this.#run = run;
  }

  take(event: JsonObject): void {
    const payload = payloadOf(event);
    demand(this.terminal === null, 'run has events after its terminal event');
    demand(
      (this.status === '') === (event['type'] === 'auto_run_started'),
      'run does not begin with its one start event',
    );
    checkBinding(event);
    this.#step(event, payload);
    const named = payload['candidate_id'];
    const current = named === undefined || named === this.candidate?.candidate_id;
    demand(current, 'event candidate is not current at this event boundary');
  }

  #step(event: JsonObject, payload: JsonObject): void {
    switch (textOf(event, 'type')) {
      case 'auto_run_started':
        demand(payload['mode'] === this.#run['mode'], 'run mode disagrees with its start event');
        demand(isOneOf(payload['status'], [undefined, 'running']), 'run start status is invalid');
        demand(event['created_at'] === this.#run['created_at'], 'run timestamp disagrees with its start event');
        this.status = 'running';
        return;
      case 'candidate_ready':
        this.#name(payload);
        return;
      case 'auto_audit_started':
        if (isReview(event)) this.#move('candidate', 'reviewing', 'result review starts');
        return;
      case 'auto_audit_completed':
        if (isReview(event)) this.#move('reviewing', 'candidate', 'result review completes');
        return;
      case 'repair_started':
        this.#repair(event, payload);
        return;
      case 'repair_completed': {
        const done = payload['status'] === 'completed';
        this.#move('repairing', done ? 'running' : 'candidate', 'repair completes');
        if (done) this.candidate = null;
        return;
      }
      case 'auto_run_terminal':
        demand(this.status === 'running' || this.status === 'candidate', 'terminal event strands an active phase');
        demand(isOneOf(payload['status'], ENDS), 'terminal event status is invalid');
        this.status = textOf(payload, 'status');
        this.terminal = event;
        return;
    }
  }

  #move(from: string, to: string, what: string): void {
    demand(this.status === from, `${what} out of phase`);
    this.status = to;
  }

  /** A result gets its name; the name never stands for another one. */
  #name(payload: JsonObject): void {
    demand(this.status === 'running' || this.status === 'candidate', 'candidate event is out of phase');
    demand(isOneOf(payload['status'], [undefined, 'candidate']), 'candidate event status is invalid');
    const candidate = candidateOf(payload);
    const name = textOf(payload, 'candidate_id');
    demand(name !== '', 'candidate event has no candidate identity');
    const before = this.candidates.get(name);
    demand(before === undefined || same(before, candidate), 'candidate identity changes its immutable binding');
    this.candidates.set(name, candidate);
    this.candidate = candidate;
    this.status = 'candidate';
  }

  #repair(event: JsonObject, payload: JsonObject): void {
    demand(payload['status'] === 'started', 'repair start status is invalid');
    if (isRepairBinding(event)) {
      demand(this.status === 'repairing', 'repair execution group binds out of phase');
      return;
    }
    this.#move('candidate', 'repairing', 'repair starts');
    const before = textsOf(payload, 'before_version_ids');
    const versions = textsOf((this.candidate as JsonObject | null) ?? undefined, 'candidate_version_ids');
    demand(sameList(before, versions), 'repair does not bind the current candidate versions');
  }

  /** The run's own record says what its events end with. */
  requireAgreement(): void {
    const run = this.#run;
    demand(this.status !== '', 'run has no start event');
    demand(same(candidateOf(run), this.candidate ?? candidateOf({})), 'run candidate disagrees with its event history');
    const told = payloadOf(this.terminal ?? undefined);
    if (this.terminal !== null) {
      demand(textOf(told, 'terminal_reason') !== '', 'terminal reason is missing or invalid');
      demand(told['status'] === run['status'], 'terminal event disagrees with its run');
      for (const field of ['terminal_reason', 'stop_reason'])
        demand(told[field] === run[field], 'terminal reason disagrees with its run');
    }
    if (run['trust_state'] === 'quarantined_import')
      demand(run['status'] === 'unverified_import', 'imported run is not visibly inert');
    else this.#requireLocalEnd();
  }

  #requireLocalEnd(): void {
    const run = this.#run;
    demand(
      valueOf(run, 'finished_at') === valueOf(this.terminal ?? undefined, 'created_at'),
      'run completion timestamp disagrees with its event history',
    );
    if (this.terminal !== null || isInert(run, this.status)) return;
    demand(run['status'] === this.status, 'run status disagrees with its event history');
    demand(
      run['terminal_reason'] === undefined && run['stop_reason'] === undefined,
      'nonterminal run carries a terminal reason',
    );
  }
}

/** A run that had not ended and was made inert when it left its session: so it comes in a package. */
const isInert = (run: JsonObject, told: string): boolean =>
  isLive(told) &&
  run['status'] === 'unverified' &&
  run['source_claimed_status'] === told &&
  run['terminal_reason'] === 'portable_execution_inert' &&
  run['stop_reason'] === undefined;

const isOneOf = (value: unknown, words: readonly unknown[]): boolean => words.includes(value);

const BINDING = ['action_group_id', 'phase', 'repair_run_id', 'status'];

/** An action group is named by the event that ties it to a repair, and by no other; that event says nothing else. */
function checkBinding(event: JsonObject): void {
  const payload = payloadOf(event);
  const binding = isRepairBinding(event);
  demand(binding || payload['phase'] === undefined, 'event phase is invalid');
  demand(binding === (payload['action_group_id'] !== undefined), 'repair execution binding is incomplete');
  if (binding) demand(same(Object.keys(payload).sort(), BINDING), 'repair execution binding payload is invalid');
}

/** Replays every run over its own events, in the order of the whole log, and holds each record against its end. */
export function replayRuns(
  runs: ReadonlyMap<string, JsonObject>,
  events: readonly JsonObject[],
): ReadonlyMap<string, RunReplay> {
  const replays = new Map([...runs].map(([name, run]) => [name, new RunReplay(run)]));
  for (const event of events) replays.get(textOf(event, 'run_id'))?.take(event);
  for (const replay of replays.values()) replay.requireAgreement();
  return replays;
}
