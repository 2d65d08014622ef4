/**
 * The items of a source, until it ends or the signal aborts: then the reason is thrown at once, even when the source
 * never answers again. The source is told to stop in every case, and not waited for.
 */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const aborted = abortOf(signal);
  try {
    while (true) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    aborted.forget();
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

function abortOf(signal: AbortSignal): { readonly promise: Promise<never>; readonly forget: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const tell = (): void => reject(signal.reason);
  if (signal.aborted) tell();
  signal.addEventListener('abort', tell, { once: true });
  return { promise, forget: () => signal.removeEventListener('abort', tell) };
}
