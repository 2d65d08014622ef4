import { operationDocument } from '../../src/app/index.ts';
import {
  type CallOutcome,
  OUTCOME_STATES,
  outcomeDocument,
  outcomeForModel,
  outcomeLine,
  type OutcomeState,
  resultEvent,
} from '../../src/calls/index.ts';
import { exitOf } from '../../src/cli/tell-run.ts';
import { isJsonObject } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const OUTCOMES: Readonly<Record<OutcomeState, CallOutcome>> = {
  not_started: { state: 'not_started', code: 'POLICY_DENIED', reason: 'Denied.', resolve: 'Ask.' },
  done: { state: 'done', output: { ok: true }, verified: false, settledBy: null },
  not_done: { state: 'not_done', code: 'TOOL_NOT_DONE', reason: 'No paper.', settledBy: null },
  unknown: { state: 'unknown', code: 'TOOL_THREW', reason: 'Gone.', statusRef: 'status_1', resolve: 'Look.' },
  failed: { state: 'failed', code: 'TOOL_FAILED', reason: 'No page.' },
};

/** The word of each outcome on each surface, in literals: a change here is a change for everybody who reads them. */
const WORDS: Readonly<Record<OutcomeState, readonly [json: string, line: string, model: string, message: string]>> = {
  not_started: ['not_started', 'not started: Denied. (POLICY_DENIED) Ask.', 'NOT STARTED (POLICY_DENIED): ', 'denied'],
  done: ['done', 'done (reported)', '{"ok":true}', 'ok'],
  not_done: ['not_done', 'not done: No paper.', 'NOT DONE (TOOL_NOT_DONE): ', 'failed'],
  unknown: ['unknown', 'unknown: it may or may not have happened. Look.', 'OUTCOME UNKNOWN (TOOL_THREW): ', 'unknown'],
  failed: ['failed', 'failed: No page. (TOOL_FAILED); it only reads', 'FAILED (TOOL_FAILED): ', 'failed'],
};

const CALL = { groupId: 'g', runId: null, callId: 'c', sideEffectClass: 'once', resourceKeys: [], statusRef: null };

function messageOf(outcome: CallOutcome) {
  const { result } = resultEvent(CALL, outcome);
  assert.ok(isJsonObject(result ?? null));
  return result as Record<string, unknown>;
}

check('each outcome has its word in --json, in the line for people, in the text for the model, in the messages', () => {
  for (const state of OUTCOME_STATES) {
    const outcome = OUTCOMES[state];
    const [json, line, model, message] = WORDS[state];
    assert.equal(outcomeDocument(outcome)['outcome'], json);
    assert.equal(outcomeLine(outcome), line);
    assert.ok(outcomeForModel(outcome).startsWith(model), outcomeForModel(outcome));
    const stored = messageOf(outcome);
    assert.equal(stored['status'], message);
    assert.equal(stored['content'], outcomeForModel(outcome), 'the message is what the model reads');
  }
});

check(
  'an unknown outcome is neither an error nor a success in the messages, and nothing reads as failed about it',
  () => {
    const stored = messageOf(OUTCOMES.unknown);
    assert.deepEqual(
      ['is_error', 'output_committed'].filter((member) => member in stored),
      [],
    );
    for (const text of [outcomeLine(OUTCOMES.unknown), String(stored['status'])])
      assert.doesNotMatch(text, /fail|done/i);
    assert.match(outcomeForModel(OUTCOMES.unknown), /Do not repeat it and do not report it as done or as failed/);
  },
);

check('a verified outcome, and one that was settled, say so', () => {
  const done = { state: 'done', output: null, verified: false } as const;
  const lines = [
    [{ ...done, verified: true, settledBy: null }, 'done, verified'],
    [{ ...done, settledBy: 'person' }, "done (reported), settled by a person's verdict"],
    [{ ...done, settledBy: 'status_query' }, 'done (reported), settled by asking the tool'],
    [{ ...done, settledBy: 'receipt' }, 'done (reported), settled by a receipt'],
    [{ ...done, settledBy: 'observation' }, 'done (reported), settled by looking'],
  ] as const;
  for (const [outcome, line] of lines) assert.equal(outcomeLine(outcome), line);
});

check(
  'what a tool or a person said stands in the line for people as it can be seen, and moves nothing on a screen',
  () => {
    const reason = 'no\u001b[31m\u202epaper\u0007';
    const shown = String.raw`no\u001b[31m\u202epaper\u0007`;
    for (const outcome of [OUTCOMES.not_started, OUTCOMES.not_done, OUTCOMES.failed])
      assert.ok(outcomeLine({ ...outcome, reason } as CallOutcome).includes(shown), outcome.state);
    const unknown = { ...OUTCOMES.unknown, resolve: reason } as CallOutcome;
    assert.ok(outcomeLine(unknown).endsWith(shown));
  },
);

check('an operation has the same words, and what is under way or untried is unknown', () => {
  const view = { known: 'done', receipt: null, verdict: null, lateReceipt: null, otherAnswers: [] } as unknown;
  const word = (known: string): unknown =>
    operationDocument({ ...(view as object), known } as Parameters<typeof operationDocument>[0])['outcome'];
  const words = ['done', 'not_done', 'unknown', 'in_progress', 'not_tried'].map(word);
  assert.deepEqual(words, ['done', 'not_done', 'unknown', 'unknown', 'unknown']);
});

check('the exit code of a run: 0 completed, 1 anything unknown, failed or stopped, 3 waiting', () => {
  const exit = (status: string, outcome: string | null = null): number =>
    exitOf({ status, outcome } as Parameters<typeof exitOf>[0]);
  assert.deepEqual(
    [exit('completed'), exit('completed', 'unknown'), exit('failed'), exit('failed', 'unknown'), exit('stopped')],
    [0, 1, 1, 1, 1],
  );
  assert.deepEqual([exit('waiting_confirmation'), exit('running', 'interrupted')], [3, 1]);
  const supervised = (status: string, waits = false): number => {
    const view = { status: 'completed', outcome: null, supervision: { status }, pending: waits ? ['request'] : [] };
    return exitOf(view as unknown as Parameters<typeof exitOf>[0]);
  };
  assert.deepEqual([supervised('verified'), supervised('completed_with_issues')], [0, 1]);
  assert.deepEqual([supervised('repairing'), supervised('repairing', true)], [1, 3]);
});
