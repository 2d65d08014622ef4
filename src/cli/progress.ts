import type { Terminal } from './terminal.ts';

/** Work that is done sooner is not worth a word. */
const SILENT_MS = 1000;
const CLEAR_LINE = '\r\u001b[2K';

/**
 * Says on standard error what goes on, and for how many seconds, once it takes longer than one: for people at a terminal
 * only, and gone again when the work ends.
 */
export async function withProgress<T>({ stderr }: Terminal, what: string, work: () => Promise<T>): Promise<T> {
  if (stderr.isTTY !== true) return work();
  let seconds = 0;
  let shown = false;
  const timer = setInterval(() => {
    seconds += 1;
    shown = true;
    stderr.write(`${CLEAR_LINE}${what} … ${seconds} s`);
  }, SILENT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (shown) stderr.write(CLEAR_LINE);
  }
}
