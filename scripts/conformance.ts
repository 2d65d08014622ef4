// npm run conformance: the conformance suite of MCP against servers, bare and through the guard. Whatever comes out
// otherwise is told; the last line counts. A difference ends with exit code 1.
import { compare, SUBJECTS } from '../test/interop/conformance/subjects.ts';

async function main(): Promise<number> {
  let [same, different] = [0, 0];
  for (const subject of SUBJECTS)
    for (const { policy, scenarios, passed, different: found } of await compare(subject)) {
      console.log(`${subject.name}, every tool ${policy}: ${scenarios} scenarios, ${passed} checks pass bare`);
      for (const line of found) console.log(`  ${line}`);
      different += found.length;
      same += scenarios - found.length;
    }
  console.log(`${same} same, ${different} different`);
  return different === 0 && same > 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main();
