import { assert, check } from '../support/index.ts';
import { compare, SUBJECTS } from './conformance/subjects.ts';

/** `npm run conformance` runs the whole suite against every subject; here the HTTP ones, and a little of the others. */
for (const [index, subject] of SUBJECTS.slice(0, 2).entries())
  check(`the conformance suite finds the ${subject.name} the same through the guard`, async () => {
    for (const { policy, scenarios, passed, different } of await compare(subject)) {
      assert.deepEqual(different, [], policy);
      assert.ok(scenarios >= 30, `${scenarios} scenarios`);
      if (index === 0) assert.ok(passed >= 40, `the fixture has what the suite asks for: ${passed} checks pass`);
    }
  });

for (const subject of SUBJECTS.slice(2))
  for (const scenario of ['tools-list', 'tools-call-simple-text'])
    check(`the scenario ${scenario} finds the ${subject.name} the same through the guard`, async () => {
      for (const { policy, scenarios, different } of await compare(subject, scenario)) {
        assert.deepEqual(different, [], policy);
        assert.equal(scenarios, 1);
      }
    });
