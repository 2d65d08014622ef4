import type { ApprovalBatch, BatchHome } from '../../approvals/index.ts';

/** Where the approval batch of each trace lies, with a change that nobody can come between. */
export interface BatchStore extends BatchHome {
  /**
   * Replaces the batch by what `change` makes of it, asked while nobody else can write. What it throws changes nothing;
   * the same object changes nothing either. A stored batch that was tampered with is `TRACE_CORRUPT`.
   */
  change(traceId: string, change: (now: ApprovalBatch | null) => ApprovalBatch): Promise<ApprovalBatch>;
}
