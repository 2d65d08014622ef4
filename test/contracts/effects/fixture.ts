import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type ClaimInput,
  type EffectLog,
  type EffectClaim,
  openFilesystem,
  ownedResource,
  resourceRef,
  type ResourceRef,
} from '../../../src/effects/index.ts';

export const RUN = 'a'.repeat(32);
export const ZEROS = '0'.repeat(64);

/** A folder of its own, removed when the test ends. */
export function temporaryFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-effects-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A reference in role `destination` to a file `a.txt` that is not there yet, in a sealed workspace. */
export function missingTarget(folder: string): ResourceRef {
  const workspace = join(folder, 'ws');
  mkdirSync(workspace);
  const filesystem = openFilesystem();
  const root = filesystem.seal(workspace);
  return resourceRef(filesystem.resolve(root, join(workspace, 'a.txt'), { allowMissing: true }), 'destination');
}

/** The claim of the contracts about a target: tool `write_file`, one obligation that it exists. */
export function claimOf(target: ResourceRef, effectId = 'e1', actionId = 'act-1'): ClaimInput {
  return {
    effectId,
    actionId,
    operation: { tool: 'write_file', action: '', inputSha256: ZEROS },
    impactScope: [target],
    obligations: [{ target, predicate: 'exists' }],
  };
}

export function claim(log: EffectLog, target: ResourceRef, effectId?: string, actionId?: string): Promise<EffectClaim> {
  return log.claim(claimOf(target, effectId, actionId));
}

export function note(recordId = 'n1', revision = 'rev-1'): ResourceRef {
  const record = { namespace: 'notes', owner: 'u', threadId: 't', collection: 'notes', recordId, revision };
  return resourceRef(ownedResource(record), 'record');
}
