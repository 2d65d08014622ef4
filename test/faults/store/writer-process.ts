import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { behindItsBack } from '../../support/notes-store.ts';

const program = join(import.meta.dirname, '..', 'programs', 'store-writer.ts');

export interface WriterOptions {
  readonly file: string;
  readonly prefix: string;
  readonly callers: number;
  readonly writes: number;
  readonly forMs?: number;
  readonly busyTimeoutMs?: number;
  readonly kill?: { readonly point: string; readonly at: number };
  readonly backup?: string;
  readonly size?: number;
  readonly goOn?: boolean;
  readonly leaveOpen?: boolean;
}

export interface WriterEnd {
  readonly acknowledged: readonly string[];
  readonly errors: readonly string[];
  /** How often something was acknowledged after the first error. */
  readonly acknowledgedAfterError: number;
  readonly ready: boolean;
  readonly counts: { readonly commits: number; readonly checkpoints: number; readonly busy: number } | undefined;
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly stderr: string;
}

export interface Writer {
  readonly child: ChildProcess;
  readonly ended: Promise<WriterEnd>;
}

/** Starts the writing process, under another program (`['strace', …]`) where one is given. */
export function startWriter(
  t: TestContext,
  options: WriterOptions,
  extra: { under?: readonly string[]; onLine?: (line: string, count: number) => void } = {},
): Writer {
  const { under = [], onLine } = extra;
  const words = [...under, process.execPath, program, JSON.stringify(options)];
  const child = spawn(words[0] ?? process.execPath, words.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    onLine?.(line, lines.length);
  });
  const ended = new Promise<WriterEnd>((resolve) => {
    child.on('close', (code, signal) => resolve({ ...readLines(lines), code, signal, stderr }));
  });
  return { child, ended };
}

function readLines(lines: readonly string[]): Omit<WriterEnd, 'code' | 'signal' | 'stderr'> {
  const of = (word: string) =>
    lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
  const firstError = lines.findIndex((line) => line.startsWith('err '));
  const afterError = firstError < 0 ? [] : lines.slice(firstError).filter((line) => line.startsWith('ack '));
  const [end] = of('end');
  return {
    acknowledged: of('ack'),
    errors: of('err'),
    acknowledgedAfterError: afterError.length,
    ready: lines.includes('ready'),
    counts: end === undefined ? undefined : (JSON.parse(end) as WriterEnd['counts']),
  };
}

export interface Ledger {
  readonly ids: ReadonlySet<string>;
  /** Rows of one half without the other: transactions that were cut. */
  readonly halves: number;
  readonly integrity: readonly unknown[];
}

/** What is in the database, read by a connection that is not the store's. */
export function readLedger(file: string): Ledger {
  return behindItsBack(file, (database) => {
    const ids = database.prepare('SELECT id FROM l').all();
    const halves = database.prepare('SELECT count(*) AS n FROM l WHERE id NOT IN (SELECT id FROM r)').get();
    const integrity = database.prepare('PRAGMA integrity_check').all();
    return {
      ids: new Set(ids.map((row) => String(row['id']))),
      halves: Number(halves?.['n']),
      integrity: integrity.map((row) => row['integrity_check']),
    };
  });
}

/** Acknowledged ids that are not there. */
export function lost(ledger: Ledger, acknowledged: readonly string[]): string[] {
  return acknowledged.filter((id) => !ledger.ids.has(id));
}

/** Whether strace is installed and may trace here. */
export function straceWorks(): boolean {
  if (!existsSync('/usr/bin/strace')) return false;
  return spawnSync('strace', ['-qq', '-e', 'trace=none', 'true']).status === 0;
}
