import type { JsonValue } from '../core/index.ts';
import type {
  ActionRef,
  Assessment,
  EffectClaim,
  EffectObservation,
  EffectOutcome,
  EffectRecord,
  OutcomeFacts,
  Postcondition,
  ResourceRef,
} from './model.ts';
import { checkClaim, checkObservation, checkOutcome, invalid } from './validity.ts';

type Doc = { readonly [key: string]: JsonValue };

/** Names of a document's keys beside the names in memory. */
const REF = {
  kind: 'kind',
  role: 'role',
  location: 'location',
  incarnation: 'incarnation',
  snapshot_sha256: 'snapshotSha256',
} as const;
const ACTION = { tool: 'tool', action: 'action', input_sha256: 'inputSha256', request_id: 'requestId' } as const;
const CONDITION = { target: 'target', predicate: 'predicate', expected: 'expected' } as const;
const FACTS = {
  exit_code: 'exitCode',
  timed_out: 'timedOut',
  output_truncated: 'outputTruncated',
  failure_kind: 'failureKind',
  job_state: 'jobState',
  remote_acknowledged: 'remoteAcknowledged',
  external: 'external',
  mutation_attempted: 'mutationAttempted',
} as const;
const CLAIM = {
  effect_id: 'effectId',
  run_id: 'runId',
  action_id: 'actionId',
  sequence: 'sequence',
  operation: 'operation',
  impact_scope: 'impactScope',
  dependencies: 'dependencies',
  obligations: 'obligations',
  parent_run_id: 'parentRunId',
  external: 'external',
} as const;
const OUTCOME = {
  effect_id: 'effectId',
  sequence: 'sequence',
  execution: 'execution',
  impact: 'impact',
  facts: 'facts',
  cleanup: 'cleanup',
  execution_id: 'executionId',
  replayed: 'replayed',
} as const;
const OBSERVATION = {
  observation_id: 'observationId',
  sequence: 'sequence',
  resource: 'resource',
  mechanism: 'mechanism',
  coverage: 'coverage',
  source_action_id: 'sourceActionId',
  source_execution_id: 'sourceExecutionId',
  exists: 'exists',
  content_sha256: 'contentSha256',
  evidence_event_id: 'evidenceEventId',
} as const;

type Names = Readonly<Record<string, string>>;

/**
 * The document of a record: exactly its own keys, all of them, always, and in the order of canonical JSON, so that
 * `JSON.stringify` of it is canonical (records hold only well-formed texts, flags and safe integers).
 */
export function recordDocument(entry: EffectRecord): Doc {
  if (entry.type === 'claim') return claimDocument(entry.record);
  return entry.type === 'outcome' ? outcomeDocument(entry.record) : observationDocument(entry.record);
}

function claimDocument(claim: EffectClaim): Doc {
  const { tool, action, inputSha256, requestId } = claim.operation;
  return {
    action_id: claim.actionId,
    dependencies: claim.dependencies.map(refDocument),
    effect_id: claim.effectId,
    external: claim.external,
    impact_scope: claim.impactScope.map(refDocument),
    obligations: claim.obligations.map((one) => ({
      expected: one.expected,
      predicate: one.predicate,
      target: refDocument(one.target),
    })),
    operation: { action, input_sha256: inputSha256, request_id: requestId, tool },
    parent_run_id: claim.parentRunId,
    run_id: claim.runId,
    sequence: claim.sequence,
  };
}

function outcomeDocument(outcome: EffectOutcome): Doc {
  const facts = outcome.facts;
  return {
    cleanup: outcome.cleanup,
    effect_id: outcome.effectId,
    execution: outcome.execution,
    execution_id: outcome.executionId,
    facts: {
      exit_code: facts.exitCode,
      external: facts.external,
      failure_kind: facts.failureKind,
      job_state: facts.jobState,
      mutation_attempted: facts.mutationAttempted,
      output_truncated: facts.outputTruncated,
      remote_acknowledged: facts.remoteAcknowledged,
      timed_out: facts.timedOut,
    },
    impact: outcome.impact,
    replayed: outcome.replayed,
    sequence: outcome.sequence,
  };
}

function observationDocument(seen: EffectObservation): Doc {
  return {
    content_sha256: seen.contentSha256,
    coverage: seen.coverage,
    evidence_event_id: seen.evidenceEventId,
    exists: seen.exists,
    mechanism: seen.mechanism,
    observation_id: seen.observationId,
    resource: refDocument(seen.resource),
    sequence: seen.sequence,
    source_action_id: seen.sourceActionId,
    source_execution_id: seen.sourceExecutionId,
  };
}

/** The document of a reference, as claims, observations and assessments carry it. */
export function refDocument(ref: ResourceRef): Doc {
  return {
    incarnation: ref.incarnation,
    kind: ref.kind,
    location: [...ref.location],
    role: ref.role,
    snapshot_sha256: ref.snapshotSha256,
  };
}

/** An assessment as the contracts write it; it is returned, never stored. */
export function assessmentDocument(of: Assessment): Doc {
  return {
    action_id: of.actionId,
    cleanup: of.cleanup,
    effect_id: of.effectId,
    execution: of.execution,
    impact: of.impact,
    observation_ids: [...of.observationIds],
    reason: of.reason,
    targets: of.targets.map(refDocument),
    verdict: of.verdict,
  };
}

/**
 * Reads a record back, as strictly as when it is made: none of its keys missing, none extra, every value checked.
 * Throws `EFFECT_RECORD_INVALID`.
 */
export function readRecord(type: unknown, document: unknown): EffectRecord {
  if (type === 'claim') return { type, record: readClaim(document) };
  if (type === 'outcome') return { type, record: readOutcome(document) };
  if (type === 'observation') return { type, record: readObservation(document) };
  throw invalid('type is not claim, outcome or observation');
}

export function readClaim(document: unknown): EffectClaim {
  const raw = exact<EffectClaim>(document, CLAIM);
  return checkClaim({
    ...raw,
    operation: exact<ActionRef>(raw.operation, ACTION),
    impactScope: entries(raw.impactScope).map(readRef),
    dependencies: entries(raw.dependencies).map(readRef),
    obligations: entries(raw.obligations).map(readCondition),
  });
}

export function readOutcome(document: unknown): EffectOutcome {
  const raw = exact<EffectOutcome>(document, OUTCOME);
  return checkOutcome({ ...raw, facts: exact<OutcomeFacts>(raw.facts, FACTS) });
}

export function readObservation(document: unknown): EffectObservation {
  const raw = exact<EffectObservation>(document, OBSERVATION);
  return checkObservation({ ...raw, resource: readRef(raw.resource) });
}

function readRef(document: unknown): ResourceRef {
  return exact<ResourceRef>(document, REF);
}

function readCondition(document: unknown): Postcondition {
  const raw = exact<Postcondition>(document, CONDITION);
  return { ...raw, target: readRef(raw.target) };
}

/** An object with exactly these keys, under its names in memory. Its values are checked by the caller. */
function exact<T>(document: unknown, names: Names): T {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw invalid('a part of the record is not an object');
  const keys = Object.keys(document);
  if (keys.length !== Object.keys(names).length || !keys.every((key) => Object.hasOwn(names, key)))
    throw invalid('a part of the record has a key missing or one too many');
  const raw = document as Readonly<Record<string, unknown>>;
  return Object.fromEntries(keys.map((key) => [names[key], raw[key]])) as T;
}

function entries(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid('a part of the record is not a list');
  return value;
}
