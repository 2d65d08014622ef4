import { count, flag, id, json, measure, more, oneOf, orNull, type RecordOf, text } from './field.ts';

export const PLAN_STATES = ['draft', 'executing', 'paused', 'completed', 'failed', 'discarded'] as const;

/** What is meant to be done, step by step. */
export const PLAN = {
  kind: 'plan',
  table: 'plans',
  fields: {
    id: id('plan_id'),
    frameId: orNull(id('frame_id')),
    projectId: orNull(id('project_id')),
    title: orNull(text('title')),
    rationale: orNull(text('rationale')),
    confidence: json('confidence'),
    steps: json('steps'),
    status: oneOf('status', PLAN_STATES),
    stepStatus: json('step_status'),
    artifactId: orNull(id('artifact_id')),
    createdAt: count('created_at'),
    updatedAt: orNull(count('updated_at')),
    more,
  },
} as const;

export type Plan = RecordOf<typeof PLAN.fields>;

/** What a reviewer did and found, or how reviews are set. */
export const REVIEW_STEP = {
  kind: 'review_step',
  table: 'review_steps',
  fields: {
    id: id('step_id'),
    seq: orNull(count('seq')),
    kind: oneOf('kind', ['review', 'review_settings']),
    title: orNull(text('title')),
    summary: orNull(text('summary')),
    input: json('input'),
    output: json('output'),
    status: orNull(text('status')),
    frameId: orNull(id('frame_id')),
    createdAt: count('created_at'),
    updatedAt: orNull(count('updated_at')),
    more,
  },
} as const;

export type ReviewStep = RecordOf<typeof REVIEW_STEP.fields>;

/** A remark that someone pinned to a place on an artifact. */
export const ANNOTATION = {
  kind: 'annotation',
  table: 'annotations',
  fields: {
    id: id('annotation_id'),
    artifactId: orNull(id('artifact_id')),
    artifactName: orNull(text('artifact_name')),
    relX: orNull(measure('rel_x')),
    relY: orNull(measure('rel_y')),
    versionId: orNull(id('version_id')),
    checksum: orNull(text('checksum')),
    number: orNull(count('number')),
    body: text('body'),
    reservationId: orNull(id('reservation_id')),
    status: orNull(text('status')),
    createdAt: count('created_at'),
    updatedAt: orNull(count('updated_at')),
    more,
  },
} as const;

export type Annotation = RecordOf<typeof ANNOTATION.fields>;

/** What is to be remembered beyond a turn, in a named block. */
export const MEMORY = {
  kind: 'memory',
  table: 'memories',
  fields: {
    id: id('memory_id'),
    projectId: orNull(id('project_id')),
    block: id('block'),
    content: text('content'),
    createdAt: count('created_at'),
    updatedAt: orNull(count('updated_at')),
    more,
  },
} as const;

export type Memory = RecordOf<typeof MEMORY.fields>;

/** Whether a skill or the like is switched on; said once for its kind, name and scope. */
export const CAPABILITY_STATE = {
  kind: 'capability_state',
  table: 'capability_states',
  fields: {
    kind: id('kind'),
    name: id('name'),
    scope: oneOf('scope', ['project', 'session']),
    scopeId: id('scope_id'),
    enabled: flag('enabled'),
    metadata: json('metadata'),
    createdAt: count('created_at'),
    updatedAt: orNull(count('updated_at')),
    more,
  },
} as const;

export type CapabilityState = RecordOf<typeof CAPABILITY_STATE.fields>;

/** A revert or a switch that was made where the session came from. Never changes. */
export const OPERATION = {
  kind: 'operation',
  table: 'past_operations',
  fields: {
    id: id('operation_id'),
    branchId: orNull(id('branch_id')),
    kind: id('kind'),
    sourceCheckpointId: orNull(id('source_checkpoint_id')),
    targetCheckpointId: orNull(id('target_checkpoint_id')),
    status: orNull(text('status')),
    preview: json('preview'),
    error: orNull(text('error')),
    createdAt: count('created_at'),
    finishedAt: orNull(count('finished_at')),
    more,
  },
} as const;

export type PastOperation = RecordOf<typeof OPERATION.fields>;

/** Plans, review steps, annotations and memories as they were at a checkpoint, under a seal. Never changes. */
export const CHECKPOINT_STATE = {
  kind: 'checkpoint_state',
  table: 'checkpoint_states',
  fields: {
    id: id('checkpoint_id'),
    branchId: id('branch_id'),
    projectId: id('project_id'),
    schemaVersion: count('schema_version'),
    stateSha256: id('state_sha256'),
    sourceCheckpointId: orNull(id('source_checkpoint_id')),
    trustState: oneOf('trust_state', ['local', 'quarantined_import']),
    importSourceSha256: orNull(text('import_source_sha256')),
    createdAt: count('created_at'),
    state: json('state'),
    more,
  },
} as const;

export type CheckpointState = RecordOf<typeof CHECKPOINT_STATE.fields>;
