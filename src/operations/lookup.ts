import { MOST_ASKING_MS } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import { effectIdentity } from './digests.ts';
import type { LookupAnswer } from './downstream.ts';
import type { Principal } from './model.ts';
import { readLookup } from './port-answers.ts';
import type { StoredWork } from './stored-work.ts';

/** Asks the other side whether an operation happened; `unknown` where it cannot be asked. */
export async function askOtherSide(
  { downstream }: Pick<OperationsContext, 'downstream'>,
  { row, tool, input, expected }: StoredWork,
  principal: Principal,
  now: number,
): Promise<LookupAnswer> {
  if (!downstream?.lookUp) return { kind: 'unknown' };
  const over = Promise.withResolvers<LookupAnswer>();
  const ending = new AbortController();
  const timer = setTimeout(() => {
    over.resolve({ kind: 'unknown' });
    ending.abort();
  }, MOST_ASKING_MS);
  const request = {
    scope: row.scope,
    statusRef: row.statusRef,
    contract: tool.contract,
    tool,
    principal,
    input,
    requestSha256: expected.requestSha256,
    effectIdentity: effectIdentity(row.scope, expected.requestSha256),
    now,
    signal: ending.signal,
  };
  try {
    return readLookup(await Promise.race([downstream.lookUp(request), over.promise]));
  } finally {
    clearTimeout(timer);
  }
}
