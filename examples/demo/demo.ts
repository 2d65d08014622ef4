// An agent on real tools, killed in the worst moment, comes back honest. Run it with: npm run demo
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Billing,
  decideElsewhere,
  holdfastJson,
  type Served,
  type Settings,
  startBilling,
  startGateway,
  startHoldfast,
} from './processes.ts';
import { closingTable } from './table.ts';

interface CallDocument {
  readonly call_id: string;
  readonly tool: string;
  readonly arguments: string | null;
  readonly outcome: string | null;
  readonly code?: string;
  readonly reason?: string;
  readonly status_ref: string | null;
  readonly verified?: boolean;
  readonly settled_by?: string | null;
}

export interface RunDocument {
  readonly run_id: string;
  readonly session_id: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly reason: string;
  readonly text: string;
  readonly calls: readonly CallDocument[];
  readonly pending: readonly string[];
}

const COMPLAINTS = `# Complaints

- ORDER-101: the lamp arrived broken (49.00).
- ORDER-102: charged twice (15.00).
- ORDER-104: wants 600.00 for a late delivery.
`;

const say = (text: string): void => console.log(text);
const show = (what: string, text: string): void => say(`  ${what.padEnd(10)} ${text}`);

async function main(): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  const folder = join(place, 'desk');
  mkdirSync(folder);
  writeFileSync(join(folder, 'complaints.md'), COMPLAINTS);
  const billing = await startBilling(join(place, 'billing.jsonl'));
  const settings: Settings = { dataDir: join(place, 'data'), folder, billingUrl: billing.url };
  let gateway: Served | undefined;
  try {
    const held = await heldAndRefused(settings);
    const { run_id: runId } = held;
    // The one that is approved will be answered; the one after it will not.
    const { committed } = await billing.withhold('ORDER-102');
    gateway = await decidedOverHttp(settings, held);
    const statusRef = await killedAfterTheCommit(settings, { committed, gateway, runId });
    const unknown = await unknownEverywhere(settings, runId, statusRef);
    const again = await repeatIsRefused(settings, unknown.session_id);
    await settledByAsking(settings, statusRef);
    const finished = await finishedAfterAll(settings, runId);
    await closing(settings, billing, [finished, again]);
  } finally {
    await gateway?.kill();
    billing.stop();
    rmSync(place, { recursive: true, force: true });
  }
}

async function heldAndRefused(settings: Settings): Promise<RunDocument> {
  say('1. An agent reads three complaints. One credit note is refused, one waits for a person.');
  const { finished } = startHoldfast(['run', 'Handle the complaints in complaints.md.', '--json'], settings);
  const { exit, stdout, stderr } = await finished;
  assert.equal(exit, 3, `the run should wait for a decision (exit 3): ${stderr}${stdout}`);
  const run = JSON.parse(stdout) as RunDocument;
  const refused = run.calls.find((call) => call.call_id === 'credit-104');
  assert.equal(refused?.outcome, 'not_started');
  assert.equal(refused?.code, 'BUSINESS_RULE_VIOLATION');
  show('refused', `${refused?.arguments ?? ''}: ${refused?.reason ?? ''}`);
  return run;
}

/** The agent's process has ended. The gateway is another, and so is the approver, who decides over HTTP. */
async function decidedOverHttp(settings: Settings, { run_id: runId, pending }: RunDocument): Promise<Served> {
  const [requestId] = pending;
  assert.ok(requestId);
  const gateway = await startGateway(settings);
  const { token } = await holdfastJson<{ token: string }>(
    ['tokens', 'new', '--subject', 'dana', '--role', 'approver'],
    settings,
  );
  const {
    subject,
    tool,
    held,
    refused,
    approved,
    decided_by: by,
    run_continues: goesOn,
  } = await decideElsewhere(requestId, gateway, token);
  show('held', `${tool} ${held}`);
  assert.deepEqual([refused.status, subject, by], [422, 'dana', 'dana'], 'the amount may not be edited');
  show('refused', `an approver may not change the amount, only the reason (${refused.code})`);
  assert.equal(goesOn, true, `the gateway carries ${runId} on`);
  show('approved', `${approved}, over HTTP, by ${by ?? ''} in another process`);
  return gateway;
}

async function killedAfterTheCommit(
  settings: Settings,
  { committed, gateway, runId }: { committed: Promise<string>; gateway: Served; runId: string },
): Promise<string> {
  say('\n2. It goes on. The billing service commits the next credit note, says nothing, and the agent is killed.');
  const late = sleep(60_000, undefined, { ref: false }).then(() => Promise.reject(new Error('nothing was committed')));
  const reference = await Promise.race([committed, late]);
  assert.equal(await gateway.kill(), 'SIGKILL');
  show('killed', `SIGKILL after the billing service wrote ${reference} to its disk, before anybody here knew`);
  const run = await waitUntil(settings, runId, (one) => one.status === 'failed');
  const call = run.calls.find((one) => one.outcome === 'unknown');
  assert.equal(call?.call_id, 'credit-102');
  assert.ok(call?.status_ref);
  return call.status_ref;
}

async function waitUntil(
  settings: Settings,
  runId: string,
  holds: (run: RunDocument) => boolean,
): Promise<RunDocument> {
  for (;;) {
    const run = await holdfastJson<RunDocument>(['runs', 'show', runId], settings);
    if (holds(run)) return run;
    await sleep(500);
  }
}

async function unknownEverywhere(settings: Settings, runId: string, statusRef: string): Promise<RunDocument> {
  say('\n3. After the restart nobody claims anything: it is unknown wherever one looks.');
  const run = await holdfastJson<RunDocument>(['runs', 'show', runId], settings);
  assert.equal(run.outcome, 'unknown');
  show('run', `${run.status}, outcome ${run.outcome}: ${run.reason}`);
  const text = (await startHoldfast(['runs', 'show', runId], settings).finished).stdout;
  assert.match(text, /outcome unknown/);
  assert.doesNotMatch(text, /not done/);
  const operation = await holdfastJson<{ outcome: string }>(['operations', 'show', statusRef], settings);
  assert.equal(operation.outcome, 'unknown');
  show('operation', `${statusRef}: ${operation.outcome}`);
  const open = await holdfastJson<{ operations: { status_ref: string }[] }>(['operations', 'list', '--open'], settings);
  assert.deepEqual(
    open.operations.map((one) => one.status_ref),
    [statusRef],
  );
  return run;
}

async function repeatIsRefused(settings: Settings, sessionId: string): Promise<RunDocument> {
  say('\n4. The model, asked about it, tries the same again. It is refused until the first one is settled.');
  const task = 'Did the customer of ORDER-102 get the money? If not, do it.';
  const run = await holdfastJson<RunDocument>(['run', task, '--session', sessionId], settings);
  const [again] = run.calls;
  assert.equal(again?.outcome, 'not_started');
  assert.equal(again?.code, 'UNRESOLVED_TWIN');
  show('refused', `${again?.code ?? ''}: ${again?.reason ?? ''}`);
  return run;
}

async function settledByAsking(settings: Settings, statusRef: string): Promise<void> {
  say('\n5. The billing service is asked. It knows, and that settles it.');
  const operation = await holdfastJson<{ outcome: string; receipt: { receipt_id: string } | null }>(
    ['operations', 'status', statusRef],
    settings,
  );
  assert.equal(operation.outcome, 'done');
  show('settled', `${statusRef}: done, receipt ${operation.receipt?.receipt_id ?? ''}`);
}

async function finishedAfterAll(settings: Settings, runId: string): Promise<RunDocument> {
  say('\n6. The run is resumed and finishes: a report in the folder, a note in the notebook.');
  const run = await holdfastJson<RunDocument>(['runs', 'resume', runId], settings);
  assert.equal(run.status, 'completed', run.reason);
  assert.match(readFileSync(join(settings.folder, 'report.md'), 'utf8'), /ORDER-102: 15.00 credited/);
  assert.match(readFileSync(join(settings.folder, 'notebook.jsonl'), 'utf8'), /ORDER-104/);
  show('agent', run.text);
  return run;
}

async function closing(settings: Settings, billing: Billing, runs: readonly RunDocument[]): Promise<void> {
  const held = await billing.ledger();
  assert.deepEqual(held.map((note) => note.order).toSorted(), ['ORDER-101', 'ORDER-102'], 'one effect per intent');
  assert.equal(held.find((note) => note.order === 'ORDER-101')?.reason, 'damaged', 'what was approved was executed');
  const audit = await holdfastJson<{ passed: boolean }>(['operations', 'audit'], settings);
  assert.equal(audit.passed, true);
  say(`\n${closingTable(runs, held)}`);
  say(`The audit of everything stored ${audit.passed ? 'passed' : 'did not pass'}.`);
}

await main();
