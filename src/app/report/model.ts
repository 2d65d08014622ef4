import type { SupervisionView } from '../../autonomy/index.ts';
import type { CallOutcome } from '../../calls/index.ts';
import type { RunRecord } from '../../runs/index.ts';

/** One call in a report: what was asked, by which run, and the one outcome that every surface shows. */
export interface ReportedCall {
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  /** Canonical JSON, secrets redacted, cut to what a person looks at; null where it could not be read. */
  readonly argumentsText: string | null;
  readonly statusRef: string | null;
  /** Null while it has not ended. */
  readonly outcome: CallOutcome | null;
}

export interface ReportedRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly task: string;
  readonly status: RunRecord['state']['status'];
  readonly outcome: 'unknown' | 'interrupted' | null;
  readonly reason: string;
  /** The run that it follows up or was asked by; null for a run of its own. */
  readonly parentRunId: string | null;
  readonly supervision: SupervisionView | null;
  readonly turns: number;
  readonly tokens: { readonly prompt: number; readonly completion: number };
  readonly costMicros: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** What carries it on, where it stands still; null where nothing has to be done. */
  readonly resolve: string | null;
}

/** A person's decision that is missing. */
export interface ReportedRequest {
  readonly requestId: string;
  readonly digest: string;
  readonly sessionId: string;
  readonly tool: string;
  readonly argumentsText: string;
  readonly reason: string;
  readonly expiresAt: number | null;
  /** What a reviewer advised; it decided nothing. */
  readonly advice: { readonly outcome: string; readonly risk: string; readonly summary: string } | null;
  readonly resolve: string;
}

export interface ReportCounts {
  readonly runs: number;
  readonly calls: number;
  /** Calls whose end state was read back and seen. */
  readonly verified: number;
  /** Calls of which only their tools say that they were done. */
  readonly reported: number;
  readonly unknown: number;
  /** Refused, denied, or not done. */
  readonly refused: number;
  /** Not started yet, or under way. */
  readonly open: number;
  readonly waiting: number;
  readonly turns: number;
  /** Of all runs, repairs among them, and of reviews and advice. */
  readonly tokens: { readonly prompt: number; readonly completion: number };
  /** By the agents' own price functions; reviews and advice have none. */
  readonly costMicros: number;
}

/** What happened since a time, for whoever comes in the morning. Times are epoch milliseconds. */
export interface Report {
  readonly madeAt: number;
  readonly since: number;
  /** False where more ran than a report holds: the newest are told. */
  readonly whole: boolean;
  readonly counts: ReportCounts;
  readonly runs: readonly ReportedRun[];
  readonly calls: readonly ReportedCall[];
  readonly waiting: readonly ReportedRequest[];
}

/** Where a call belongs in a report. */
export type ReportPart = 'verified' | 'reported' | 'unknown' | 'refused' | 'open';

export function partOf({ outcome }: Pick<ReportedCall, 'outcome'>): ReportPart {
  if (outcome === null) return 'open';
  switch (outcome.state) {
    case 'done':
      return outcome.verified ? 'verified' : 'reported';
    case 'unknown':
      return 'unknown';
    case 'not_started':
    case 'not_done':
    case 'failed':
      return 'refused';
  }
}
