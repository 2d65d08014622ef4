import type { SessionContext } from '../sessions/index.ts';
import { proveAssessment } from './assessment-proof.ts';

/** Proofs that a test may count. */
export interface AutonomyProofs {
  readonly assessment: typeof proveAssessment;
}

/** Says whether a workspace tree, with every content of it, can be restored. Asked before the transaction. */
export type TreeCheck = (treeId: string) => Promise<boolean>;

export interface AutonomyContext {
  readonly sessions: SessionContext;
  readonly proofs: AutonomyProofs;
}

export const autonomyContext = (sessions: SessionContext, proofs: Partial<AutonomyProofs> = {}): AutonomyContext => ({
  sessions,
  proofs: { assessment: proveAssessment, ...proofs },
});
