import { execFile } from 'node:child_process';
import { createHash, hash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { Holdfast } from '../../src/index.ts';
import { fileSource, openPackage } from '../../src/archive/index.ts';
import { appendEvent, beginTurn, bindWorkspace, openGroup, openSession } from '../../src/sessions/index.ts';
import { builtProgram } from '../../scripts/installed.ts';
import { median } from '../measure.ts';
import type { BenchSuite } from '../suite.ts';

const MIB = 1024 * 1024;
const ROUNDS = 3;
const LARGE_FILES = 12;
const SMALL_FILES = 1000;
const WORKSPACE_BYTES = 100 * MIB;
const EVENTS = 100_000;
const EVENTS_A_GROUP = 100;
/** What stands in the ledger of one call, in its order. */
const TYPES = ['proposed', 'permission', 'started', 'result'];

/** Half noise, half words: deflates to about half its size. */
function content(seed: number, bytes: number): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes; at += 64) blocks.push(Buffer.from(hash('sha256', `${seed}:${at}`, 'hex')));
  return Buffer.concat(blocks).subarray(0, bytes);
}

function writeWorkspace(folder: string): void {
  mkdirSync(folder);
  const small = (WORKSPACE_BYTES * 0.2) / SMALL_FILES;
  const large = (WORKSPACE_BYTES * 0.8) / LARGE_FILES;
  for (let i = 0; i < LARGE_FILES; i += 1) writeFileSync(join(folder, `large-${i}`), content(i, large));
  for (let i = 0; i < SMALL_FILES; i += 1) writeFileSync(join(folder, `small-${i}`), content(100 + i, small));
}

/**
 * A session with a hundred thousand events in its ledger, in groups as a long run leaves them or in one, and a workspace
 * of 100 MB.
 */
async function makeSession(dataDir: string, workspace: string, eventsAGroup = EVENTS_A_GROUP): Promise<string> {
  const holdfast = await Holdfast.open({ dataDir });
  const { store, principal, calls, projectId } = holdfast.runtime;
  const { sessions } = calls;
  const root = await store.write('bench', async (tx) => {
    const id = await openSession(tx, sessions, principal, { projectId });
    await bindWorkspace(tx, sessions, principal, id, workspace);
    await beginTurn(tx, sessions, principal, { rootFrameId: id, branchId: id, turnId: 't', content: 'go' });
    return id;
  });
  let groupId = '';
  for (let group = 0; group < EVENTS / EVENTS_A_GROUP; group += 1)
    await store.write('bench', async (tx) => {
      const place = { rootFrameId: root, branchId: root, turnId: 't', kind: 'tool_calls' };
      if ((group * EVENTS_A_GROUP) % eventsAGroup === 0) groupId = (await openGroup(tx, sessions, principal, place)).id;
      for (let i = 0; i < EVENTS_A_GROUP; i += 1)
        await appendEvent(tx, sessions, principal, {
          groupId,
          type: TYPES[i % 4] ?? '',
          toolCallId: `call-${group}-${i >> 2}`,
          sideEffectClass: 'read',
          result: {
            row: i,
            text: hash('sha256', `${group}:${i}`, 'hex'),
            note: 'what a tool said of it, in some words',
          },
        });
    });
  await holdfast.close();
  return root;
}

interface Done {
  readonly ms: number;
  readonly peakMb: number;
  readonly answer: string;
}

/** In a process of its own, on what is built: as the command does it, or as a library in a process with V8's defaults. */
async function inChild(args: readonly string[], as: 'command' | 'library' = 'command'): Promise<Done> {
  const child = builtProgram(join(import.meta.dirname, '..', 'children', 'package-work.ts'));
  const words = as === 'command' ? [...args, '--as-command'] : args;
  const { stdout } = await promisify(execFile)(process.execPath, [child, ...words], { maxBuffer: MIB });
  const { ms, peak, answer } = JSON.parse(stdout) as { ms: number; peak: number; answer: string };
  return { ms, peakMb: peak / 1e6, answer };
}

/** Reads, hashes and deflates the same bytes with Node's own modules alone, and writes what comes out. */
function byHand(files: readonly string[], out: string): number {
  const start = performance.now();
  const fd = openSync(out, 'w', 0o600);
  for (const file of files) {
    const bytes = readFileSync(file);
    createHash('sha256').update(bytes).digest('hex');
    writeSync(fd, deflateRawSync(bytes));
  }
  closeSync(fd);
  return performance.now() - start;
}

/** The documents of a package as files, so that the comparison has the same bytes. */
async function documentsOf(file: string, folder: string): Promise<string[]> {
  mkdirSync(folder);
  const source = await fileSource(file);
  const pkg = await openPackage(source);
  const names = [...pkg.files.keys()].filter((name) => !name.includes('/'));
  for (const name of names) writeFileSync(join(folder, name), await pkg.bytes(name, 64 * MIB));
  await source.close();
  return names.map((name) => join(folder, name));
}

/** A session leaves and comes in again, beside reading, hashing and deflating its bytes; peak memory of each. */
export const packagesSuite: BenchSuite = {
  name: 'packages',
  async run(folder) {
    const at = (name: string): string => join(folder, name);
    writeWorkspace(at('workspace'));
    const root = await makeSession(at('data'), at('workspace'));
    const file = at('package.zip');
    const exportOnce = (as?: 'library') => inChild(['export', at('data'), file, root], as);
    const { answer: manifest } = await exportOnce();
    const documents = await documentsOf(file, at('documents'));
    const files = [...readdirSync(at('workspace')).map((name) => join(at('workspace'), name)), ...documents];
    const times: Record<'export' | 'import' | 'hand', number[]> = { export: [], import: [], hand: [] };
    let [exportPeak, importPeak] = [0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      const made = await exportOnce();
      if (made.answer !== manifest) throw new Error('two exports of one session differ');
      times.hand.push(byHand(files, at('by-hand')));
      const brought = await inChild(['import', at(`into-${round}`), file]);
      times.export.push(made.ms);
      times.import.push(brought.ms);
      exportPeak = Math.max(exportPeak, made.peakMb);
      importPeak = Math.max(importPeak, brought.peakMb);
    }
    const inLibrary = {
      export: (await exportOnce('library')).peakMb,
      import: (await inChild(['import', at('into-library'), file], 'library')).peakMb,
    };
    const oneRoot = await makeSession(at('one-data'), at('workspace'), EVENTS);
    await inChild(['export', at('one-data'), at('one.zip'), oneRoot]);
    const oneGroup = await inChild(['import', at('into-one'), at('one.zip')]);
    const [exportMs, importMs, handMs] = [median(times.export), median(times.import), median(times.hand)];
    const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
    const bytes = files.reduce((sum, one) => sum + statSync(one).size, 0);
    return {
      rows: [
        { what: 'export', value: seconds(exportMs), note: `${(bytes / 1e6).toFixed(0)} MB, ${EVENTS} events` },
        { what: 'read, hash, deflate', value: seconds(handMs), note: 'the same bytes, with zlib and crypto alone' },
        { what: 'as fast as', value: (handMs / exportMs).toFixed(2), note: 'must be at least 0.5' },
        { what: 'import', value: seconds(importMs), note: 'checked, every record under a new identity' },
        { what: 'import, as fast as', value: (handMs / importMs).toFixed(2) },
        { what: 'memory, export', value: `${exportPeak.toFixed(0)} MB`, note: 'at most, of the process; below 200' },
        { what: 'memory, import', value: `${importPeak.toFixed(0)} MB`, note: 'at most, of the process; below 200' },
        {
          what: 'memory, import of one group',
          value: `${oneGroup.peakMb.toFixed(0)} MB`,
          note: `all ${EVENTS} events in one group; below 200`,
        },
        {
          what: 'memory, export as a library',
          value: `${inLibrary.export.toFixed(0)} MB`,
          note: 'V8 left to itself, which collects late where a machine has much memory',
        },
        { what: 'memory, import as a library', value: `${inLibrary.import.toFixed(0)} MB` },
      ],
      figures: { ratios: { package_export: handMs / exportMs, package_import: handMs / importMs } },
    };
  },
};
