import { HoldfastError } from '../core/index.ts';
import type { RunsContext } from './context.ts';

/**
 * Does what gives this process a run, once more under its new id where it was taken for dead, such as while its machine
 * slept: nothing of the first try was written. INSTANCE_ENDED where it is to stay so.
 */
export async function comingBack<T>(
  context: Pick<RunsContext, 'instanceId' | 'comeBack'>,
  body: () => Promise<T>,
): Promise<T> {
  const { instanceId } = context;
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'INSTANCE_ENDED') throw error;
    await context.comeBack(instanceId);
    return body();
  }
}
