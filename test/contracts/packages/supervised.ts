import { join } from 'node:path';
import { Autonomy } from '../../../src/autonomy/index.ts';
import type { AutonomyWorld } from '../../support/autonomy-world.ts';
import * as runs from '../../support/autonomy-world.ts';
import { addArtifact, makeSource, ROOT } from './source.ts';
import { OWNER, type PackageWorld } from './world.ts';

/** A session of a packages' world, as the fixtures of supervised runs know one. */
export function supervised(world: PackageWorld, root = ROOT): AutonomyWorld {
  const { store, clock, sessions, workspaces } = world;
  const trees = async (treeId: string) => (await workspaces.verifyTree(treeId)).length === 0;
  const autonomy = new Autonomy({ store, sessions, trees });
  const never = () => Promise.reject(new Error('not in this world'));
  return {
    file: join(world.folder, 'holdfast.db'),
    store,
    clock,
    context: sessions,
    counts: undefined as never,
    root,
    workspaces,
    autonomy,
    raw: () => world.raw(),
    reopen: never,
    close: never,
    [Symbol.asyncDispose]: never,
  };
}

/**
 * The shared source with a run that was reviewed, found wanting, repaired and paused, and an assessment in it. Of the
 * versions that it names one belongs to an artifact, one does not.
 */
export async function superviseSource(world: PackageWorld): Promise<AutonomyWorld> {
  await makeSource(world);
  await addArtifact(world, 'a-before', 'version-before', 'before.csv', 'before\n');
  const session = supervised(world);
  const groupId = await runs.boundRepair(session);
  await runs.acted(session, groupId, 'write-1');
  await runs.completeRepair(session, [groupId]);
  await runs.assessed(session, 'late');
  await runs.completeAssessment(session, 'late');
  await session.autonomy.terminateRun(OWNER, 'run-1', {
    key: 'run-1:end',
    status: 'completed_with_issues',
    reason: 'budget_used_up',
  });
  return session;
}
