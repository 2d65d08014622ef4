import type { ToolRevisions } from '../../src/index.ts';
import { approvedRevision } from '../../src/calls/identity.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

/** What a tool says of itself after a change of one part, an approval of the tool as it was being there. */
const CHANGED: readonly (readonly [part: keyof ToolRevisions, sent: number])[] = [
  ['inputSchema', 0],
  ['outputSchema', 0],
  ['effect', 0],
  ['policy', 0],
  ['handler', 1],
  ['producer', 1],
];

for (const [part, sent] of CHANGED)
  check(`an approval of a tool ${sent === 0 ? 'is none of' : 'holds for'} one with another ${part}`, async (t) => {
    let count = 0;
    const open = async (revisions: Partial<ToolRevisions>, dataDir?: string) => {
      const desk = await openDesk(t, dataDir === undefined ? {} : { dataDir });
      const tools = [noteTool({ needsApproval: true, revisions, execute: () => (count += 1) })];
      return { ...desk, agent: desk.holdfast.agent({ model: callsThenDone([{}]), tools }) };
    };
    const before = await open({});
    const run = await before.agent.run('go');
    const [asked] = run.pending;
    assert.ok(asked);
    const { approvals, principal } = before.holdfast.runtime;
    await approvals.decide(principal, [{ requestId: asked.requestId, digest: asked.digest, decision: 'approve' }]);
    await before.holdfast.close();
    const after = await open({ [part]: 'take_note-v2' }, before.dataDir);
    const resumed = await after.agent.resume(run.id);
    assert.equal(count, sent);
    const outcome = resumed.view.calls[0]?.outcome;
    assert.equal(
      outcome?.state === 'not_started' ? outcome.code : null,
      sent === 0 ? 'APPROVAL_BINDING_MISMATCH' : null,
    );
  });

check('the revision that is approved is the policy’s own until another part was changed', () => {
  const revision = (revisions: Partial<ToolRevisions>) => approvedRevision(noteTool({ revisions }));
  assert.equal(revision({}), 'take_note-v1');
  assert.equal(revision({ policy: 'p2', handler: 'h2', producer: 'x2' }), 'p2');
  assert.match(revision({ effect: 'e2' }), /^take_note-v1#[0-9a-f]{16}$/);
  const all = ['inputSchema', 'outputSchema', 'effect'].map((part) => revision({ [part]: 'take_note-v2' }));
  assert.equal(new Set(all).size, 3);
});
