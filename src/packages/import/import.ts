import { type ByteSource, openPackage, preflightPackage, type SessionPackage } from '../../archive/index.ts';
import { fail, HoldfastError, StorageIntegrityError, wrapFileError } from '../../core/index.ts';
import type { Principal } from '../../sessions/index.ts';
import type { Tx } from '../../store/index.ts';
import { type ImportResult, type PackageContext, secretValues } from '../model.ts';
import { eraseFiles, eraseRows } from './erase.ts';
import { planImport } from './plan.ts';
import type { ImportPlan } from './plan-model.ts';
import { PackageReader } from './reader.ts';
import { ImportStages, STAGE_ORDER } from './stages.ts';

/** Makes the stages of one import; a test gives another one, with a fault in the place of a step. */
export type MakeStages = (...args: ConstructorParameters<typeof ImportStages>) => ImportStages;

export interface ImportOptions {
  readonly makeStages?: MakeStages | undefined;
  /** Written in the very commit that makes the session whole; what it throws takes everything back. */
  readonly within?: ((tx: Tx, result: ImportResult) => Promise<void>) | undefined;
}

/**
 * Imports a package as a new session in a new project, every record under an identity of its own, locked until a person
 * trusts it. Every check comes before the first write; nothing of the package is run. An error on the way takes
 * everything back; a process that dies leaves a locked, neutrally named placeholder.
 */
export async function importPackage(
  context: PackageContext,
  principal: Principal,
  source: ByteSource,
  { makeStages = (...args) => new ImportStages(...args), within }: ImportOptions = {},
): Promise<ImportResult> {
  const pkg = await openPackage(source, { clock: context.clock });
  // Values that this installation keeps secret are no shapes: they are looked for by themselves.
  const documents = await preflightPackage(pkg, context.limits, { known: secretValues(context) });
  const { ids, clock, autoMode } = context;
  const plan = await planImport(new PackageReader(pkg, documents), { ids, clock, autoMode });
  await source.checkUnchanged();
  const stages = makeStages(context, principal, plan, pkg);
  const result = resultOf(plan, pkg);
  await stages.root();
  await context.faults.reach('import-placeholder-committed');
  try {
    await carryOut(context, stages, within && ((tx) => within(tx, result)));
  } catch (error) {
    const { wasRemoved } = await takeBack(context, stages, error);
    if (wasRemoved)
      throw fail('SESSION_NOT_FOUND', 'The session was removed while its package was imported.', { cause: error });
    throw error instanceof StorageIntegrityError
      ? fail('PACKAGE_DOCUMENT_INVALID', 'A record of the package breaks a rule of the store.', { cause: error })
      : wrapFileError(error, 'a package that is being imported');
  }
  await context.faults.reach('import-promoted');
  return result;
}

async function carryOut(
  { faults }: PackageContext,
  stages: ImportStages,
  within: ((tx: Tx) => Promise<void>) | undefined,
): Promise<void> {
  for (const [step, stage] of STAGE_ORDER.entries()) {
    await stages[stage]();
    await faults.reach('import-quarantined', step);
  }
  await faults.reach('import-about-to-promote');
  await stages.promote(within);
}

const LEFT_TO_GO =
  'Look at the cause. What is left goes by itself: files at the next start, contents with a collection.';

/**
 * Takes back everything that was written. What cannot be taken back is named, and the first error stays its cause. Tells
 * whether somebody had removed the session already.
 */
async function takeBack(
  context: PackageContext,
  stages: ImportStages,
  cause: unknown,
): Promise<{ readonly wasRemoved: boolean }> {
  const { root, projectId } = stages.plan;
  const failed: string[] = [];
  let wasRemoved = false;
  const attempt = async (step: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (step === 'rows' && error instanceof HoldfastError && error.code === 'SESSION_NOT_FOUND') wasRemoved = true;
      else failed.push(step);
    }
  };
  await attempt('rows', () => eraseRows(context, stages.principal, { root, projectId }));
  await attempt('files', () => eraseFiles(context, root));
  await attempt('contents', () => context.workspaces.forget(stages.added, context.clock.nowMs()));
  if (failed.length === 0) return { wasRemoved };
  throw fail('IMPORT_NOT_TAKEN_BACK', `The import failed, and these were not taken back: ${failed.join(', ')}.`, {
    cause,
    ...(failed.includes('rows') ? {} : { resolve: LEFT_TO_GO }),
  });
}

function resultOf(plan: ImportPlan, pkg: SessionPackage): ImportResult {
  return {
    ok: true,
    project_id: plan.projectId,
    root_frame_id: plan.root,
    active_branch_id: plan.face.activeBranchId,
    package_sha256: pkg.archiveSha256,
    manifest_sha256: pkg.manifestSha256,
    schema_version: 1,
    kernel_state: 'ended',
    view_only: true,
    explicit_recovery_required: true,
    trust_state: 'quarantined',
    injection_flags: plan.injectionFlags,
    identity_remap: plan.identityRemap,
  };
}
