import type { ChildProcess } from 'node:child_process';

// Children lead process groups of their own, so a terminal's Ctrl-C does not reach them: this process ends them.
const living = new Set<ChildProcess>();
let watching = false;

/** Ends a child's group when this process ends, however it ends by itself. */
export function watchChild(child: ChildProcess): void {
  living.add(child);
  child.once('exit', () => living.delete(child));
  if (watching) return;
  watching = true;
  process.once('exit', () => {
    for (const each of living) signalGroup(each, 'SIGKILL');
  });
}

/** Signals a child and whatever it started. A group that is gone is no error. */
export function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // ESRCH: nobody of the group is left.
  }
}

/** Ends a child in steps: end of input, SIGTERM, SIGKILL, each after `stepMs`; then what is left of its group. */
export async function endChild(child: ChildProcess, stepMs: number): Promise<void> {
  const exited = new Promise<void>((done) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) done();
    else child.once('exit', () => done());
  });
  child.stdin?.end();
  if (!(await within(exited, stepMs))) {
    signalGroup(child, 'SIGTERM');
    await within(exited, stepMs);
  }
  signalGroup(child, 'SIGKILL');
  await exited;
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}

async function within(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((done) => {
    timer = setTimeout(() => done(false), ms);
  });
  const first = await Promise.race([promise.then(() => true as const), late]);
  clearTimeout(timer);
  return first;
}
