import { join } from 'node:path';
import { functionModel, type Model } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { authorOf, honestReviewer, openSupervised } from '../support/supervised-world.ts';

const ADVICE = JSON.stringify({ outcome: 'allow_once', risk: 'low', summary: 'Harmless.' });

/** A reviewer of approvals that dies, or does something, before it answers. */
function adviserThat(act: () => Promise<void>): Model {
  const says = functionModel(() => ADVICE, 'adviser');
  return {
    id: 'adviser',
    turn: async function* (request) {
      await act();
      yield* says.turn(request);
    },
  };
}

const WRITTEN = [['total 42'], ['total 41', 'total 42']] as const;

for (const contents of WRITTEN)
  check(`advice that a dead process had begun keeps no run of ${contents.length} writes from its end`, async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const terms = { reviewer: { model: honestReviewer() } };
    const setting = { dataDir, needsApproval: true, author: authorOf(...contents) };
    let world = await openSupervised({ ...setting, terms: { ...terms, preset: 'off', resultReviewMode: 'auto_fix' } });
    const first = await world.agent.run('Write the total.');
    for (let request = first.pending[0]; request; ) {
      const { autonomy, approvals, principal } = world.holdfast.runtime;
      const { requestId, digest, document } = request;
      const { action_digest: actionDigest } = document as { action_digest: string };
      await autonomy.startAssessment(principal, first.supervision?.autoRunId ?? '', {
        assessmentId: `advice-${requestId}`,
        auditId: `audit-${requestId}`,
        decisionId: requestId,
        actionDigest,
        policyVersion: 'somebody:1:0',
        key: `advice:${requestId}`,
      });
      await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
      await world.holdfast.close();
      world = await openSupervised({ ...setting, terms: { ...terms, preset: 'off', resultReviewMode: 'auto_fix' } });
      request = (await world.agent.resume(first.id)).pending[0];
    }
    const { autonomy, principal, runs } = world.holdfast.runtime;
    const view = await autonomy.supervisionOf(principal, (await runs.get(principal, first.id)).place);
    assert.deepEqual(
      [view?.status, view?.advice.map(({ status }) => status)],
      ['verified', contents.map(() => 'unavailable')],
    );
    await world.holdfast.close();
  });

check(
  'advice that comes after its request was decided and carried out elsewhere takes nothing from the run',
  async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const terms = {
      reviewer: { model: honestReviewer() },
      permissionReviewer: { model: functionModel(() => ADVICE, 'quick') },
    };
    const seen: { elsewhere: () => Promise<void> } = { elsewhere: async () => undefined };
    const slow = adviserThat(() => seen.elsewhere());
    const setting = { dataDir, needsApproval: true };
    const world = await openSupervised({ ...setting, terms: { ...terms, permissionReviewer: { model: slow } } });
    const other = await openSupervised({ ...setting, terms });
    seen.elsewhere = async () => {
      seen.elsewhere = async () => undefined;
      const { approvals, principal } = other.holdfast.runtime;
      const { items } = await approvals.pending(principal);
      const [run] = (await other.holdfast.runtime.runs.list(principal, { limit: 10 })).items;
      for (const { requestId, digest } of items)
        await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
      const carried = await other.agent.resume(run?.runId ?? '');
      assert.equal(carried.supervision?.status, 'repairing');
    };
    const first = await world.agent.run('Write the total.');
    assert.deepEqual([first.status, first.supervision?.status], ['completed', 'repairing']);
    const done = await first.approve(first.pending[0]);
    assert.equal(done.supervision?.status, 'verified');
    await world.holdfast.close();
    await other.holdfast.close();
  },
);
