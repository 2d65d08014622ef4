import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = new URL(import.meta.resolve('@modelcontextprotocol/conformance/package.json'));

/** A run that takes longer is over: the scenarios that it did not come to are missing, and so different. */
const SUITE_MS = 300_000;

/** What the suite found, by scenario: each check with its word, in order. */
export type Findings = ReadonlyMap<string, readonly string[]>;

/** Runs the conformance suite against a server; `scenario`: only this one. */
export async function runSuite(url: string, scenario?: string): Promise<Findings> {
  const output = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'));
  try {
    const which = scenario === undefined ? ['--suite', 'all'] : ['--scenario', scenario];
    const program = new URL('dist/index.js', PROGRAM).pathname;
    const child = spawn(process.execPath, [program, 'server', '--url', url, '-o', output, ...which], {
      stdio: 'ignore',
    });
    const late = setTimeout(() => child.kill('SIGKILL'), SUITE_MS);
    await new Promise((resolve) => child.once('close', resolve));
    clearTimeout(late);
    const folders = readdirSync(output).toSorted();
    return new Map(folders.map((name) => [scenarioOf(name), checksIn(join(output, name, 'checks.json'))]));
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** A folder of results is called after its scenario and the time. */
const scenarioOf = (folder: string): string => folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');

function checksIn(file: string): readonly string[] {
  const checks = JSON.parse(readFileSync(file, 'utf8')) as { readonly id: string; readonly status: string }[];
  // What is only told (each event that came, say) is no check, and depends on the moment.
  return checks.flatMap(({ id, status }) => (status === 'INFO' ? [] : [`${id}: ${status}`]));
}

/** The guard's own door is what these look at: it turns requests for other machines away, even where its server would not. */
const OF_THE_DOOR = new Map([
  ['localhost-host-rebinding-rejected: FAILURE', 'localhost-host-rebinding-rejected: SUCCESS'],
]);

export interface Difference {
  readonly scenario: string;
  readonly text: string;
}

/** The scenarios that came out otherwise. */
export function differences(found: Findings, guarded: Findings): readonly Difference[] {
  const bare = new Map([...found].map(([name, checks]) => [name, checks.map((one) => OF_THE_DOOR.get(one) ?? one)]));
  const scenarios = new Set([...bare.keys(), ...guarded.keys()]);
  return [...scenarios].flatMap((name) => {
    const [plain = [], behind = []] = [bare.get(name), guarded.get(name)];
    return plain.join('\n') === behind.join('\n')
      ? []
      : [{ scenario: name, text: `${name}: ${other(plain, behind)} instead of ${other(behind, plain)}` }];
  });
}

/** What the first has and the second has not. */
function other(first: readonly string[], second: readonly string[]): string {
  const rest = [...first];
  for (const one of second) if (rest.includes(one)) rest.splice(rest.indexOf(one), 1);
  return rest.join(', ') || 'nothing';
}
