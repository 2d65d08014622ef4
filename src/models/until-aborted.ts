/**
 * The items of a source, until it ends or the signal aborts: then the reason is thrown at once, even when the source
 * never answers again. The source is told to stop in every case, and not waited for. Each step has a promise of its
 * own: racing every step against one promise would keep something for each item until the end.
 */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let refuse: (reason: unknown) => void = () => undefined;
  const tell = (): void => refuse(signal.reason);
  signal.addEventListener('abort', tell, { once: true });
  try {
    while (true) {
      const next = await new Promise<IteratorResult<T>>((settle, reject) => {
        refuse = reject;
        if (signal.aborted) tell();
        else iterator.next().then(settle, reject);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', tell);
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
