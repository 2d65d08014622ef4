// A session is written at one desk, travels as a file, is tampered with five times, and goes on at another desk.
// Run it with: node examples/travel/travel.ts
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TAMPERINGS, writeTampered } from './tampering.ts';

const here = import.meta.dirname;
const config = join(here, 'holdfast.config.ts');
const say = (text: string): void => console.log(text);

/** A folder with a data folder of its own, and the command in it. */
class Desk {
  readonly folder: string;
  readonly #dataDir: string;

  constructor(place: string, name: string) {
    this.folder = join(place, name);
    this.#dataDir = join(place, `${name}-data`);
    mkdirSync(this.folder);
  }

  async holdfast(...args: string[]): Promise<{ exit: number; document: Record<string, unknown>; text: string }> {
    const command = [join(here, '..', '..', 'bin', 'holdfast.js'), ...args, '--json', '--data-dir', this.#dataDir];
    const child = spawn(process.execPath, command, {
      cwd: this.folder,
      env: { ...process.env, TRAVEL_FOLDER: this.folder, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const told = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (part: string) => {
        told[stream] += part;
      });
    const [exit] = (await once(child, 'close')) as [number];
    const text = told.stdout + told.stderr;
    const line = told.stdout.trim().split('\n').at(-1) ?? '';
    return { exit, text, document: (line.startsWith('{') ? JSON.parse(line) : {}) as Record<string, unknown> };
  }

  /** The same, where nothing may be refused. */
  async must(...args: string[]): Promise<Record<string, unknown>> {
    const { exit, document, text } = await this.holdfast(...args);
    assert.equal(exit, 0, `holdfast ${args.join(' ')}: ${text}`);
    return document;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

async function main(): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'holdfast-travel-'));
  try {
    const home = new Desk(place, 'home');
    const source = await written(home);
    const file = await exported(home, source);
    await tampered(home, file);
    const away = new Desk(place, 'away');
    const session = await arrived(away, file);
    assert.notEqual(session, source);
    await goesOn(away, session);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function written(home: Desk): Promise<string> {
  say('1. An agent writes its report.');
  writeFileSync(join(home.folder, 'orders.csv'), 'order,amount\nORDER-101,49.00\nORDER-102,15.00\n');
  const run = await home.must('run', 'Write the report of the night.', '--config', config);
  assert.equal(run['text'], 'The report is written.');
  const session = textOf(run['session_id']);
  await home.must('sessions', 'checkpoint', session, '--workspace', home.folder, '--reason', 'the report is written');
  return session;
}

async function exported(home: Desk, source: string): Promise<string> {
  say('2. The session becomes one file, which its sender signs.');
  const file = join(home.folder, 'report.zip');
  const made = await home.must('export', source, '--to', file);
  const key = await home.must('keys', 'new', '--out', 'my.key');
  await home.must('sign', file, '--key', 'my.key');
  writeFileSync(join(home.folder, 'trusted.txt'), `${textOf(key['public_key'])} The night desk\n`);
  const verified = await home.must('verify', file, '--deep', '--trusted', 'trusted.txt');
  assert.equal(verified['archive_sha256'], made['sha256']);
  say(`   ${textOf(made['manifest_sha256'])} is its name, whatever packs it`);
  return file;
}

async function tampered(home: Desk, good: string): Promise<void> {
  say('3. Five who had it in their hands have changed it. Each is named; all but the last are refused at the door,');
  say(
    '   and that one, whose digests are all right, is shown by the signature, and would arrive locked like any other.',
  );
  for (const [at, tampering] of TAMPERINGS.entries()) {
    const bad = join(home.folder, `tampered-${at + 1}.zip`);
    await writeTampered(good, bad, tampering);
    const { exit, text } = await home.holdfast('verify', bad, ...tampering.asked);
    assert.notEqual(exit, 0, tampering.what);
    const [named = ''] = tampering.named.exec(text) ?? [];
    assert.notEqual(named, '', `${tampering.what}: ${text}`);
    say(`   ${tampering.what}: ${named}`);
    const imported = await home.holdfast('import', bad);
    if (tampering.onlySigned) assert.equal(imported.document['trust_state'], 'quarantined', imported.text);
    else assert.notEqual(imported.exit, 0, tampering.what);
  }
}

async function arrived(away: Desk, file: string): Promise<string> {
  say('4. The good one is opened at another desk: locked, under names of its own.');
  await away.must('migrate');
  const imported = await away.must('import', file);
  assert.equal(imported['trust_state'], 'quarantined');
  const session = textOf(imported['root_frame_id']);
  const shown = await away.holdfast('sessions', 'show', session);
  assert.equal(shown.exit, 0, shown.text);
  const refused = await away.holdfast('run', 'Add the total.', '--session', session, '--config', config);
  assert.match(refused.text, /SESSION_QUARANTINED/);
  say('   it can be read, and it does nothing: SESSION_QUARANTINED');
  return session;
}

async function goesOn(away: Desk, session: string): Promise<void> {
  say('5. A person trusts it, by an act of their own, and it goes on.');
  assert.equal((await away.holdfast('sessions', 'trust', session)).exit, 1, 'not without being sure');
  assert.equal((await away.must('sessions', 'trust', session, '--yes'))['trust_state'], 'trusted');
  const run = await away.must('run', 'Add the total.', '--session', session, '--config', config);
  assert.equal(run['text'], 'The total was added.');
  const report = readFileSync(join(away.folder, 'report.md'), 'utf8');
  assert.match(report, /ORDER-101: 49\.00[\s\S]*Total: 64\.00/);
  say('   the agent was shown what it had written elsewhere, and added to it:');
  for (const line of report.trim().split('\n')) say(`   | ${line}`);
}

await main();
