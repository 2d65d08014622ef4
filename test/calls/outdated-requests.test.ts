import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { HoldfastError, HoldfastOptions, ToolRevisions } from '../../src/index.ts';
import { assert, check, configuredFolder, LETTER_AGENT } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

const POLICIES = (revision: string): HoldfastOptions => ({
  policies: { policies: [{ name: 'house', revision, decide: () => null }], mode: 'enforce' },
});

interface World {
  readonly dataDir: string;
  readonly runId: string;
  readonly requestId: string;
  readonly ran: () => number;
  /** Opens the folder again, with the tool under these revisions. */
  readonly open: (
    revisions: Partial<ToolRevisions>,
    options?: HoldfastOptions,
  ) => Promise<Awaited<ReturnType<typeof openDesk>> & { agent: { resume: (id: string) => Promise<Resumed> } }>;
}
type Resumed = Awaited<ReturnType<ReturnType<Awaited<ReturnType<typeof openDesk>>['holdfast']['agent']>['resume']>>;

/** A request that waits, of a process that is closed. */
async function waiting(t: TestContext, options: HoldfastOptions = {}): Promise<World> {
  let count = 0;
  const open = async (revisions: Partial<ToolRevisions>, more: HoldfastOptions = {}) => {
    const desk = await openDesk(t, more);
    const execute = () => ({ ran: (count += 1) });
    const tools = [noteTool({ needsApproval: true, editable: ['note'], revisions, execute })];
    return { ...desk, agent: desk.holdfast.agent({ name: 'clerk', model: callsThenDone([{}], [{}]), tools }) };
  };
  const { holdfast, dataDir, agent } = await open({}, options);
  const run = await agent.run('go');
  const [request] = run.pending;
  assert.ok(request);
  assert.equal(request.outdated, null);
  await holdfast.close();
  const reopen: World['open'] = (revisions, more = options) => open(revisions, { ...more, dataDir });
  return { dataDir, runId: run.id, requestId: request.requestId, ran: () => count, open: reopen };
}

check(
  'a request of a tool that has other revisions by now says so, and is not allowed; rejected, it is asked anew',
  async (t) => {
    for (const part of ['policy', 'inputSchema', 'effect'] as const) {
      const world = await waiting(t);
      const { requestId, runId } = world;
      const { holdfast, agent } = await world.open({ [part]: 'take_note-v2' });
      const { approvals, principal } = holdfast.runtime;
      const shown = await approvals.show(principal, requestId);
      assert.match(shown.outdated ?? '', /^The tool take_note has other revisions by now \(take_note-v[^)]+\) than/);
      const [listed] = (await approvals.pending(principal)).items;
      assert.equal(listed?.outdated, shown.outdated);
      const said = { requestId, digest: shown.digest, decision: 'approve' } as const;
      for (const one of [said, { ...said, editedArguments: { note: 'tea' } }])
        await assert.rejects(approvals.decide(principal, [one]), (error: HoldfastError) => {
          assert.deepEqual([error.code, error.details], ['APPROVAL_BINDING_MISMATCH', { part: 'toolRevision' }]);
          assert.match(error.resolve, new RegExp(`holdfast approvals reject ${requestId}$`));
          return true;
        });
      await assert.rejects(approvals.decide(principal, [{ ...said, digest: '0'.repeat(64) }]), {
        code: 'APPROVAL_DIGEST_MISMATCH',
      });
      assert.equal((await approvals.show(principal, requestId)).status, 'pending');
      await approvals.decide(principal, [{ ...said, decision: 'reject' }]);
      assert.equal((await approvals.show(principal, requestId)).outdated, null);
      const again = await agent.resume(runId);
      await again.approve(again.pending[0]);
      assert.deepEqual([again.status, world.ran()], ['completed', 1]);
    }
  },
);

check('where only the policies are others, it is said by whoever carries runs of that tool out', async (t) => {
  const world = await waiting(t, POLICIES('1'));
  const { holdfast } = await world.open({}, POLICIES('2'));
  const { approvals, principal } = holdfast.runtime;
  const { outdated, digest } = await approvals.show(principal, world.requestId);
  assert.match(outdated ?? '', /^The policies have other revisions by now than/);
  const said = { requestId: world.requestId, digest, decision: 'approve' } as const;
  await assert.rejects(approvals.decide(principal, [said]), { code: 'APPROVAL_BINDING_MISMATCH' });
});

check('nothing is claimed by a process that does not know the tool, or carries out no run of it', async (t) => {
  const world = await waiting(t, POLICIES('1'));
  const { dataDir, requestId } = world;
  for (const tools of [[], [noteTool({ needsApproval: true })]]) {
    const { holdfast } = await openDesk(t, { dataDir, tools });
    assert.equal((await holdfast.runtime.approvals.show(holdfast.runtime.principal, requestId)).outdated, null);
    await holdfast.close();
  }
  const { holdfast } = await openDesk(t, { dataDir });
  const { approvals, principal } = holdfast.runtime;
  const { digest } = await approvals.show(principal, requestId);
  const [decided] = await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
  assert.equal(decided?.status.state, 'allowed');
});

check('the command and its documents say so too', async (t) => {
  const { folder, holdfast, json } = await configuredFolder(t, LETTER_AGENT);
  const runId = /^run ([0-9a-f]{32})/m.exec((await holdfast('run', 'Write to Ada.')).stdout)?.[1] ?? '';
  const config = join(folder, 'holdfast.config.ts');
  const changed = readFileSync(config, 'utf8').replace(
    "effect: 'once',",
    "effect: 'once', revisions: { policy: 'p2' },",
  );
  writeFileSync(config, changed);
  const { document: page } = await json('approvals', 'list');
  const [request] = page['requests'] as readonly Record<string, string>[];
  const id = request?.['decision_id'] ?? '';
  assert.match(request?.['outdated'] ?? '', /^The tool post has other revisions/);
  assert.match((await holdfast('approvals', 'list')).stdout, new RegExp(`^${id} {2}pending, outdated {2}post `, 'm'));
  assert.match((await holdfast('approvals', 'show', id)).stdout, /^ {2}outdated {3}The tool post has other revisions/m);
  const shown = (await holdfast('runs', 'show', runId)).stdout;
  assert.match(shown, new RegExp(`outdated: .*\\n +to be asked anew: holdfast approvals reject ${id} `));
  assert.doesNotMatch(shown, /approvals approve/);
  const refused = await json('approvals', 'approve', id);
  assert.deepEqual([refused.exit, refused.document.error?.code], [1, 'APPROVAL_BINDING_MISMATCH']);
});
