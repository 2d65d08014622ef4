import { contextsIn, faultOf, readMutants } from '../../scripts/mutants/list.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check } from '../support/index.ts';

check('every list of mutants in this repository can be tried as it is written', () => {
  const mutants = contextsIn(ROOT).flatMap((context) => readMutants(ROOT, context));
  assert.ok(mutants.length > 0);
  const faults = mutants.map((one) => [one.context, one.number, faultOf(ROOT, one)]);
  assert.deepEqual(
    faults.filter(([, , fault]) => fault !== undefined),
    [],
  );
});
