import { installedCommand } from '../../support/index.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHttpGuard } from '../../../src/app/index.ts';
import { connectMcp } from '../../../src/mcp/index.ts';
import { everythingOverHttp, program } from '../reference-servers.ts';
import { openFixture } from './fixture-server.ts';
import { FIXTURE_TOOLS } from './fixture-tools.ts';
import { bridgeTo, httpFront } from './http-front.ts';
import { type Difference, differences, type Findings, runSuite } from './suite.ts';

/** How every tool is described to the guard; both let every call pass at once. */
export const POLICIES = ['read', 'once'] as const;
export type PolicyOfAll = (typeof POLICIES)[number];

interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** A server that the suite is run against: bare, and through the guard. */
export interface Subject {
  readonly name: string;
  serve(): Promise<Served>;
  guarded(home: string, policy: string): Promise<Served>;
}

const COMMAND = installedCommand();
const FIXTURE = join(import.meta.dirname, 'fixture-server.ts');

function overHttp(name: string, serve: () => Promise<Served>): Subject {
  return {
    name: `${name} over HTTP`,
    serve,
    guarded: async (home, policy) => {
      const server = await serve();
      const settings = { dataDir: join(home, 'data'), policy, url: server.url, port: 0, tell: () => undefined };
      const guard = await runHttpGuard(settings);
      const close = async (): Promise<void> => {
        await server.close();
        await guard.close();
      };
      return { url: guard.url, close };
    },
  };
}

function overLines(name: string, words: readonly string[]): Subject {
  return {
    name: `${name} over standard input and output`,
    serve: () => httpFront(bridgeTo(process.execPath, words)),
    guarded: (home, policy) => {
      const file = join(home, 'policy.json');
      writeFileSync(file, policy);
      const guard = [COMMAND, 'mcp', '--policy', file, '--data-dir', join(home, 'data'), '--'];
      return httpFront(bridgeTo(process.execPath, [...guard, process.execPath, ...words]));
    },
  };
}

export const SUBJECTS: readonly Subject[] = [
  overHttp('fixture', () => httpFront(openFixture)),
  overHttp('everything', everythingOverHttp),
  overLines('fixture', [FIXTURE]),
  overLines('everything', [program('server-everything'), 'stdio']),
];

async function toolsOf(subject: Subject): Promise<readonly string[]> {
  const server = await subject.serve();
  const connection = await connectMcp({ name: 'listed', server: { url: server.url } });
  const names = (await connection.listTools()).map(({ name }) => name);
  await connection.close();
  await server.close();
  return names;
}

function policyOf(names: readonly string[], effect: PolicyOfAll): string {
  // The suite calls tools that some servers lack: what is passed on must not depend on what they offer.
  const tools = Object.fromEntries(names.map((name) => [name, { effect }]));
  const rules = [{ id: 'all', tools: [...names], decision: 'allow' }];
  return JSON.stringify({ version: 1, name: 'conformance', revision: '1', server: 'subject', tools, rules });
}

async function findingsOf(served: Promise<Served>, scenario: string | undefined): Promise<Findings> {
  const server = await served;
  try {
    return await runSuite(server.url, scenario);
  } finally {
    await server.close();
  }
}

export interface Comparison {
  readonly subject: string;
  readonly policy: PolicyOfAll;
  readonly scenarios: number;
  readonly passed: number;
  readonly different: readonly string[];
}

/** So often a scenario that came out otherwise is run again: some of its checks wait for a moment on a busy machine. */
const REPEATS = 2;

/** Runs the suite bare and under each policy; `scenario`: only this one of it. */
export async function compare(subject: Subject, scenario?: string): Promise<readonly Comparison[]> {
  const names = [...new Set([...(await toolsOf(subject)), ...Object.keys(FIXTURE_TOOLS)])];
  const bare = await findingsOf(subject.serve(), scenario);
  const passed = [...bare.values()].flat().filter((check) => check.endsWith(': SUCCESS')).length;
  const found: Comparison[] = [];
  for (const policy of POLICIES) {
    const guarded = await behindGuard(subject, policyOf(names, policy), scenario);
    const different: string[] = [];
    for (const one of differences(bare, guarded)) {
      const again = await stillDifferent(subject, policyOf(names, policy), one);
      if (again !== null) different.push(again);
    }
    found.push({ subject: subject.name, policy, scenarios: bare.size, passed, different });
  }
  return found;
}

async function behindGuard(subject: Subject, policy: string, scenario?: string): Promise<Findings> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'));
  try {
    return await findingsOf(subject.guarded(home, policy), scenario);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Null for a scenario that comes out the same when it is run alone, bare and guarded; else how it differs. */
async function stillDifferent(subject: Subject, policy: string, first: Difference): Promise<string | null> {
  let { text } = first;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const bare = await findingsOf(subject.serve(), first.scenario);
    const [other] = differences(bare, await behindGuard(subject, policy, first.scenario));
    if (!other) return null;
    text = other.text;
  }
  return text;
}
