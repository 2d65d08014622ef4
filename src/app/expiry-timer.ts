import type { Approvals } from '../approvals/index.ts';
import { LIMITS } from '../core/index.ts';

const EVERY_MS = 1000;

/**
 * The one timer of a process that times out permission requests whose time is over: one look a second, on an index of
 * those that can expire, and a write only where one has. Answers how it is stopped.
 */
export function startExpiry(approvals: Approvals): () => Promise<void> {
  let under: Promise<void> | undefined;
  const timer = setInterval(() => {
    under ??= sweepAll(approvals).finally(() => (under = undefined));
  }, EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await under;
  };
}

async function sweepAll(approvals: Approvals): Promise<void> {
  try {
    for (;;) {
      const { expired } = await approvals.sweep();
      if (expired.length < LIMITS.approvalSweepRows) return;
    }
  } catch {
    // A busy or failing store is met again at the next look; expiry is judged at every decision and use as well.
  }
}
