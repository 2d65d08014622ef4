/**
 * The places where a crash or an error matters, by name. Each is compiled in and does nothing unless a test harness
 * passes an armed `FaultPoints` by option; no environment variable can arm one.
 */
export const FAULT_POINTS = [
  'group-begun',
  'group-about-to-commit',
  'group-committed',
  'migration-step',
  'backup-written',
  'intent-committed',
  'outbox-claimed',
  'approval-consumed',
  'effect-about-to-send',
  'effect-sent',
  'receipt-about-to-commit',
  'receipt-committed',
  'ack-about-to-send',
  'lease-renewed',
  'recovery-started',
  'recovery-finished',
  'log-appended',
  'log-synced',
  'file-temp-written',
  'file-renamed',
  'checkpoint-tree-written',
  'checkpoint-committed',
  'auto-candidate-recorded',
  'auto-review-started',
  'auto-review-answered',
  'auto-review-completed',
  'auto-repair-started',
  'auto-repair-ended',
  'auto-about-to-verify',
  'auto-run-ended',
  'package-temp-written',
  'package-renamed',
  'import-placeholder-committed',
  'import-quarantined',
  'import-about-to-promote',
  'import-promoted',
  'erase-rows-committed',
  'erase-files-removed',
] as const;

export type FaultPoint = (typeof FAULT_POINTS)[number];

/**
 * What code calls at a fault point. `reach` may throw, wait, or kill the process when armed. Inside a transaction body
 * call it as `void faults.reach(…)` (only faults that throw or kill make sense there); elsewhere await it.
 * `step` tells repeated points apart: the number of a migration.
 */
export interface FaultPoints {
  reach(point: FaultPoint, step?: number): void | Promise<void>;
}

/** Nothing is armed. */
export const noFaults: FaultPoints = Object.freeze({ reach: () => undefined });
