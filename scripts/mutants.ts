// Breaks each context on purpose and looks whether its tests see it.
//   npm run mutants · npm run mutants -- core store
// The edits are test/mutants/<context>.json. They are tried in copies of the tree, two at a time, never in the checkout.
import { join } from 'node:path';
import { contextsIn, faultOf, type Mutant, readMutants } from './mutants/list.ts';
import { setUp, type Workbench } from './mutants/workbench.ts';

const WORKERS = 2;
const root = join(import.meta.dirname, '..');
const known = contextsIn(root);
const asked = process.argv.slice(2);
const unknown = asked.filter((context) => !known.includes(context));
if (unknown.length > 0) {
  console.error(`no mutants for ${unknown.join(', ')}; there are ${known.join(', ') || 'none'}`);
  process.exit(2);
}

const mutants = (asked.length > 0 ? asked : known).flatMap((context) => readMutants(root, context));
const problems: string[] = [];
let seen = 0;

function blame(mutant: Mutant, problem: string): void {
  problems.push(`${mutant.context} ${mutant.number} (${mutant.file}): ${problem}`);
}

const sound = mutants.filter((mutant) => {
  const fault = faultOf(root, mutant);
  if (fault !== undefined) blame(mutant, fault);
  return fault === undefined;
});

async function attempt(bench: Workbench, mutant: Mutant): Promise<void> {
  const verdict = await bench.attempt(mutant);
  if (verdict === 'green') blame(mutant, `the tests stay green. ${mutant.why}`);
  else seen += 1;
  console.log(`${verdict === 'green' ? 'NOT SEEN' : 'seen'}  ${mutant.context} ${mutant.number}  ${mutant.why}`);
}

/** Tests that are red before anything is broken prove nothing. */
async function startGreen(benches: readonly Workbench[], files: readonly string[]): Promise<boolean> {
  const verdict = files.length === 0 ? 'green' : await benches[0]?.test(files, 'aloud');
  if (verdict === 'stuck') problems.push('the tests did not end before anything is broken');
  if (verdict === 'red') problems.push('the tests are red before anything is broken');
  return verdict === 'green';
}

const benches = Array.from({ length: WORKERS }, () => setUp(root));
try {
  if (await startGreen(benches, [...new Set(sound.flatMap(({ tests }) => tests))])) {
    const queue = [...sound];
    await Promise.all(
      benches.map(async (bench) => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) await attempt(bench, next);
      }),
    );
  }
} finally {
  for (const bench of benches) bench.remove();
}

for (const problem of problems) console.error(problem);
console.log(`${seen} of ${mutants.length} mutants seen`);
process.exitCode = problems.length > 0 || mutants.length === 0 ? 1 : 0;
