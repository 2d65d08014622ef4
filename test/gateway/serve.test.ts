import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastClient } from '../../src/client/index.ts';
import { assert, check } from '../support/index.ts';
import { configuredFolder, LETTER_AGENT } from '../support/configured-folder.ts';
import { endLeases } from '../support/leases.ts';
import { runCurlLines, served, untilEnded, untilPending } from './served.ts';

check('serve shows the first token once, serves, and ends with 0 when it is told to stop', async (t) => {
  const { folder } = await configuredFolder(t, LETTER_AGENT);
  const first = await served(t, folder);
  assert.match(first.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const owner = new HoldfastClient({ url: first.url, token: first.token ?? '' });
  assert.deepEqual((await owner.principal()).roles, ['approver', 'admin']);
  assert.equal(await first.stop('SIGINT'), 0);
  const again = await served(t, folder);
  assert.equal(again.token, null);
  const known = new HoldfastClient({ url: again.url, token: first.token ?? '' });
  assert.equal((await known.principal()).subject, 'owner');
  assert.equal(await again.stop(), 0);
  assert.ok(!(first.log() + again.log()).includes((first.token ?? 'none').slice(-43)));
});

check('a run that one process began is approved over HTTP in another, which carries it out', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const run = await json('run', 'Write to Ada.');
  assert.equal(run.exit, 3);
  const { url, token } = await served(t, folder);
  const owner = new HoldfastClient({ url, token: token ?? '' });
  const request = await untilPending(owner);
  const decided = await owner.decide(request.decision_id, { decision: 'approve', digest: request.digest });
  assert.equal(decided.run_continues, true);
  const done = await untilEnded(owner, request.run_id ?? '');
  assert.deepEqual([done.status, done.calls[0]?.outcome], ['completed', 'done']);
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
});

check('a run that waits in serve goes on when the command approves it in another process', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const before = await json('run', 'Write to Ada.');
  const [early] = before.document['pending'] as string[];
  const { document: shown } = await json('approvals', 'show', early ?? '');
  await json('approvals', 'approve', early ?? '', '--digest', String(shown['digest']));
  const { url, token } = await served(t, folder);
  const owner = new HoldfastClient({ url, token: token ?? '' });
  // Decided while nobody was there to carry it on: serve does so when it opens.
  const first = await untilEnded(owner, String(before.document['run_id']));
  assert.equal(first.status, 'completed');
  const { token: text } = await owner.createToken({ subject: 'writer', roles: ['agent'] });
  const writer = new HoldfastClient({ url, token: text ?? '' });
  const { run_id: runId } = await writer.startRun({ agent: 'agent', task: 'Write to Ada.' });
  const { decision_id: requestId, digest } = await untilPending(owner);
  const approved = await json('approvals', 'approve', requestId, '--digest', digest);
  assert.equal(approved.exit, 0);
  assert.equal((await untilEnded(owner, runId)).status, 'completed');
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\nAda\n');
});

for (const document of ['README.md', 'docs/gateway.md'])
  check(`${document}: its curl lines run as they stand, from the first token to a finished run`, async (t) => {
    const { folder } = await configuredFolder(t, LETTER_AGENT);
    await runCurlLines(document, await served(t, folder));
    assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
  });

/** Of a `serve` that is to see soon that it was taken for dead. Milliseconds. */
const LEASE_MS = 3_000;

check('a serve that slept longer than its lease says so and ends; started anew it carries on what waits', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const file = join(folder, 'holdfast.config.ts');
  writeFileSync(file, readFileSync(file, 'utf8').replace('({ agents', `({ instanceLeaseMs: ${LEASE_MS}, agents`));
  const slept = await served(t, folder);
  const run = await json('run', 'Write to Ada.');
  const [waiting = ''] = run.document['pending'] as string[];
  const { document: shown } = await json('approvals', 'show', waiting);
  slept.send('SIGSTOP');
  endLeases(join(folder, '.holdfast'));
  assert.equal((await json('approvals', 'approve', waiting, '--digest', String(shown['digest']))).exit, 0);
  assert.equal(await slept.stop('SIGCONT'), 2);
  assert.match(slept.log(), /INSTANCE_ENDED/);
  assert.match(slept.log(), /holdfast serve/);
  const { url } = await served(t, folder);
  const owner = new HoldfastClient({ url, token: slept.token ?? '' });
  assert.equal((await untilEnded(owner, String(run.document['run_id']))).status, 'completed');
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
});
