// A process that writes and says what was acknowledged, one line each: `ready`, `ack ID`, `err CODE`, `end {counts}`.
// Its one argument is JSON: see Options.
import { writeSync } from 'node:fs';
import type { FaultPoint } from '../../../src/core/index.ts';
import { type ContextSchema, countingObserver } from '../../../src/store/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { armFaults } from '../../support/faults.ts';

interface Options {
  readonly file: string;
  /** What the ids begin with: a process writes only its own. */
  readonly prefix: string;
  /** Writers at the same time, and how many writes each makes. */
  readonly callers: number;
  readonly writes: number;
  /** Stop after so many milliseconds, where that comes first. */
  readonly forMs?: number;
  readonly busyTimeoutMs?: number;
  /** Die by SIGKILL at this arrival at this fault point. */
  readonly kill?: { readonly point: FaultPoint; readonly at: number };
  /** Make a backup there before the writes. */
  readonly backup?: string;
  /** Length of the text in each row. */
  readonly size?: number;
  /** Go on after an error, to see what follows it. */
  readonly goOn?: boolean;
  /** Do not close the store. */
  readonly leaveOpen?: boolean;
}

const options = JSON.parse(process.argv[2] ?? '{}') as Options;

/** Each write makes two rows: a state with one of them is a transaction that was cut. */
const schema: ContextSchema = {
  context: 'pairs',
  migrations: [
    { number: 1, name: 'left', sqlite: 'CREATE TABLE l (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT' },
    { number: 2, name: 'right', sqlite: 'CREATE TABLE r (id TEXT PRIMARY KEY REFERENCES l (id)) STRICT' },
  ],
};

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

function codeOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code ?? message;
}

const { kill, backup, busyTimeoutMs, prefix, callers, writes, forMs = Number.POSITIVE_INFINITY, size = 100 } = options;
const counts = countingObserver();
const store = await openSqliteStore({
  file: options.file,
  schemas: [schema],
  observer: (event) => {
    if (event.kind !== 'statement') counts.observe(event);
  },
  ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
  ...(kill === undefined ? {} : { faults: armFaults({ ...kill, act: 'kill' }) }),
});
say('ready');
if (backup !== undefined) await store.backup(backup);

const until = performance.now() + forMs;
const text = 'x'.repeat(size);

async function writePair(id: string): Promise<boolean> {
  try {
    await store.write('pair', async (tx) => {
      await tx.run('INSERT INTO l VALUES (?, ?)', [id, text]);
      await tx.run('INSERT INTO r VALUES (?)', [id]);
    });
    say(`ack ${id}`);
    return true;
  } catch (error) {
    say(`err ${codeOf(error)}`);
    return options.goOn === true;
  }
}

async function caller(number: number): Promise<void> {
  for (let i = 0; i < writes && performance.now() < until; i += 1)
    if (!(await writePair(`${prefix}-${number}-${i}`))) return;
}

await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)));
if (options.leaveOpen !== true) await store.close();
const counted = (kind: Parameters<typeof counts.count>[0]) => counts.count(kind);
say(
  `end ${JSON.stringify({ commits: counted('committed'), checkpoints: counted('checkpoint'), busy: counted('busy') })}`,
);
