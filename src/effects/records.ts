import type {
  ClaimInput,
  EffectClaim,
  EffectObservation,
  EffectOutcome,
  ObservationInput,
  OutcomeFacts,
  OutcomeInput,
  ResourceRef,
} from './model.ts';
import { checkClaim, checkObservation, checkOutcome } from './validity.ts';

/** The facts of an outcome about which nothing was reported. */
export const NO_FACTS: OutcomeFacts = Object.freeze({
  exitCode: null,
  timedOut: false,
  outputTruncated: false,
  failureKind: '',
  jobState: '',
  remoteAcknowledged: false,
  external: false,
  mutationAttempted: false,
});

/** The claim of an input at a position, its defaults filled in. Throws `EFFECT_RECORD_INVALID` or `LIMIT_REACHED`. */
export function makeClaim(input: ClaimInput, runId: string, sequence: number): EffectClaim {
  return checkClaim({
    effectId: input.effectId,
    runId: input.runId ?? runId,
    actionId: input.actionId,
    sequence,
    operation: {
      tool: input.operation.tool,
      action: input.operation.action,
      inputSha256: input.operation.inputSha256,
      requestId: input.operation.requestId ?? '',
    },
    impactScope: (input.impactScope ?? []).map(copyRef),
    dependencies: (input.dependencies ?? []).map(copyRef),
    obligations: (input.obligations ?? []).map((one) => ({
      target: copyRef(one.target),
      predicate: one.predicate,
      expected: one.expected ?? '',
    })),
    parentRunId: input.parentRunId ?? '',
    external: input.external ?? false,
  });
}

export function makeOutcome(input: OutcomeInput, sequence: number): EffectOutcome {
  return checkOutcome({
    effectId: input.effectId,
    sequence,
    execution: input.execution,
    impact: input.impact,
    facts: { ...NO_FACTS, ...input.facts },
    cleanup: input.cleanup ?? 'not_applicable',
    executionId: input.executionId ?? '',
    replayed: input.replayed ?? false,
  });
}

export function makeObservation(input: ObservationInput, sequence: number): EffectObservation {
  return checkObservation({
    observationId: input.observationId,
    sequence,
    resource: copyRef(input.resource),
    mechanism: input.mechanism,
    coverage: input.coverage,
    sourceActionId: input.sourceActionId ?? '',
    sourceExecutionId: input.sourceExecutionId ?? '',
    exists: input.exists ?? null,
    contentSha256: input.contentSha256 ?? '',
    evidenceEventId: input.evidenceEventId ?? '',
  });
}

/** A record keeps its own copy: what the caller does with its objects later changes no history. */
function copyRef(ref: ResourceRef): ResourceRef {
  return {
    kind: ref.kind,
    role: ref.role,
    location: [...ref.location],
    incarnation: ref.incarnation,
    snapshotSha256: ref.snapshotSha256,
  };
}

/** What recovery writes for an effect whose process ended before its outcome: it may have happened. */
export function interruption(effectId: string): OutcomeInput {
  return { effectId, execution: 'interrupted', impact: 'possible', replayed: true };
}
