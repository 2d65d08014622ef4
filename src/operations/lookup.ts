import { MOST_ASKING_MS } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import type { LookupAnswer } from './downstream.ts';
import type { Principal } from './model.ts';
import { readLookup } from './port-answers.ts';
import { requestOf, type StoredWork } from './stored-work.ts';

/** Asks the other side whether an operation happened; `unknown` where it cannot be asked. */
export async function askOtherSide(
  { downstream }: Pick<OperationsContext, 'downstream'>,
  work: StoredWork,
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
  const request = { ...requestOf(work, principal, now), signal: ending.signal };
  try {
    return readLookup(await Promise.race([downstream.lookUp(request), over.promise]));
  } finally {
    clearTimeout(timer);
  }
}
