import type { Tx } from '../../store/index.ts';
import type { SessionContext } from '../ledger.ts';
import type { Principal } from '../model.ts';
import { count, id, json, more, orNull, type RecordOf, text } from './field.ts';
import { changeRecord } from './record-rows.ts';

/** One lifetime of a language process. One that has ended never changes again. */
export const GENERATION = {
  kind: 'generation',
  table: 'kernel_generations',
  fields: {
    id: id('generation_id'),
    branchId: id('branch_id'),
    language: orNull(text('language')),
    ordinal: orNull(count('ordinal')),
    parentGenerationId: orNull(id('parent_generation_id')),
    environmentManifestId: orNull(id('environment_manifest_id')),
    bootstrapManifestId: orNull(id('bootstrap_manifest_id')),
    environment: json('environment'),
    bootstrap: json('bootstrap'),
    workerPid: orNull(count('worker_pid')),
    ownerInstanceId: orNull(id('owner_instance_id')),
    state: id('state'),
    startedAt: orNull(count('started_at')),
    lastActivityAt: orNull(count('last_activity_at')),
    endedAt: orNull(count('ended_at')),
    endedReason: orNull(text('ended_reason')),
    recoveredFromGenerationId: orNull(id('recovered_from_generation_id')),
    more,
  },
} as const;

export type KernelGeneration = RecordOf<typeof GENERATION.fields>;

/** Ends a lifetime, in a state and for a reason. See `changeRecord`; STORE_CONSTRAINT when it had ended. */
export const endGeneration = (
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  generationId: string,
  end: { readonly state: string; readonly reason: string },
): Promise<KernelGeneration> =>
  changeRecord(tx, context, principal, rootFrameId, GENERATION, generationId, {
    state: end.state,
    endedReason: end.reason,
    endedAt: context.clock.nowMs(),
  });

/** What a language environment held when an artifact's version was made. Never changes. */
export const ENVIRONMENT_SNAPSHOT = {
  kind: 'environment_snapshot',
  table: 'environment_snapshots',
  fields: {
    id: id('snapshot_id'),
    kind: orNull(text('kind')),
    pythonVersion: orNull(text('python_version')),
    implementation: orNull(text('implementation')),
    platform: orNull(text('platform')),
    packageCount: orNull(count('package_count')),
    packages: json('packages'),
    remote: json('remote'),
    interpreter: orNull(text('interpreter')),
    environmentName: orNull(text('environment_name')),
    generationId: orNull(id('generation_id')),
    generationConfidence: orNull(text('generation_confidence')),
    packagesUnavailable: json('packages_unavailable'),
    provenance: orNull(text('provenance')),
    createdAt: count('created_at'),
    more,
  },
} as const;

export type EnvironmentSnapshot = RecordOf<typeof ENVIRONMENT_SNAPSHOT.fields>;

/** One step of bringing a language process back, as it was written down. Never changes. */
export const RECOVERY_ENTRY = {
  kind: 'recovery_entry',
  table: 'recovery_journal',
  fields: {
    id: id('entry_id'),
    recoveryId: id('recovery_id'),
    branchId: id('branch_id'),
    sequence: count('sequence'),
    sourceGenerationId: orNull(id('source_generation_id')),
    candidateGenerationId: orNull(id('candidate_generation_id')),
    phase: orNull(text('phase')),
    status: orNull(text('status')),
    detail: json('detail'),
    createdAt: count('created_at'),
    more,
  },
} as const;

export type RecoveryEntry = RecordOf<typeof RECOVERY_ENTRY.fields>;
