// Replays a file of operations vectors against the runtime: npm run vectors -- FILE
import { resolve } from 'node:path';
import { displayText } from '../src/core/index.ts';
import { replayVectors } from '../test/fixtures/refund-desk/replay/replay.ts';

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: npm run vectors -- FILE');
  process.exit(2);
}
const results = await replayVectors(resolve(file)).catch((error: unknown) => {
  console.error(`${file} is no file of operations vectors: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(2);
});
for (const { name, problems } of results) {
  // A line a case, whatever a file calls its cases.
  console.log(displayText(`${problems.length === 0 ? 'ok' : 'FAILED'} ${name}`));
  for (const problem of problems) console.log(`    ${displayText(problem)}`);
}
const failed = results.filter((result) => result.problems.length > 0).length;
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 && results.length > 0 ? 0 : 1;
