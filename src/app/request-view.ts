import type { ShownRequest } from '../approvals/index.ts';
import type { JsonObject } from '../core/index.ts';

/** A permission request as `--json` and HTTP carry it: what is bound, its digest, and how it stands. */
export function requestView(request: ShownRequest): JsonObject {
  const { digest, status, decidedBy, message, supersededBy, outdated, document } = request;
  return { ...document, digest, status, decided_by: decidedBy, message, superseded_by: supersededBy, outdated };
}
