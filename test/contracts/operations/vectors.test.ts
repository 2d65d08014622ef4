import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { canonicalJson, type JsonValue } from '../../../src/core/index.ts';
import { replayVectors } from '../../fixtures/refund-desk/replay/replay.ts';
import { readVectors, VECTOR_FORMAT } from '../../fixtures/refund-desk/replay/vector-file.ts';
import { assert, check, temporaryFolder } from '../../support/index.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const GOLDEN = join(ROOT, 'test', 'vectors', 'operations.json');

const golden = async () => readVectors(await readFile(GOLDEN));

/** A file of its own, with the numbers spelled as they were read. */
async function written(t: TestContext, sections: JsonValue): Promise<string> {
  const file = join(await temporaryFolder(t), 'vectors.json');
  await writeFile(file, canonicalJson(sections));
  return file;
}

check('every case of the golden vectors of operations agrees', async () => {
  const results = await replayVectors(GOLDEN);
  assert.ok(results.length > 300, `only ${results.length} cases were replayed`);
  const failed = results.filter(({ problems }) => problems.length > 0);
  assert.deepEqual(failed, []);
});

check('a file of any one section alone is replayed', async (t) => {
  const silent = new Set(['format', 'about', 'how_to_replay', 'orders', 'tool_specs', 'default_fixture']);
  for (const [section, cases] of Object.entries(await golden())) {
    const alone = section === 'format' ? {} : { [section]: cases };
    const results = await replayVectors(await written(t, { format: VECTOR_FORMAT, ...alone }));
    assert.ok(silent.has(section) || results.length > 0, section);
    assert.deepEqual(
      results.filter(({ problems }) => problems.length > 0),
      [],
      section,
    );
  }
});

/** The cases of a section with one expectation of each replaced. */
function expecting(cases: JsonValue | undefined, expect: JsonValue): JsonValue {
  return (cases as { readonly [name: string]: JsonValue }[]).map((one) => ({ ...one, expect }));
}

check('an expectation that nobody compares fails, wherever it stands', async (t) => {
  const sections = await golden();
  const [first] = sections['scenarios'] as { readonly head: JsonValue; readonly steps: JsonValue[] }[];
  assert.ok(first);
  for (const expect of [{}, { ok: false }, { pakage: {} }, { error: 'invalid_value' }]) {
    const file = await written(t, {
      format: VECTOR_FORMAT,
      host_context: expecting(sections['host_context'], expect),
      constructor: expecting(sections['constructor'], expect),
      fixture_loading: expecting(sections['fixture_loading'], expect),
      principal_resolver_faults: expecting(sections['principal_resolver_faults'], expect),
      scenarios: [{ head: first.head, steps: expecting(first.steps, expect) }],
    });
    const results = await replayVectors(file);
    const agreed = results.filter(({ problems }) => problems.length === 0).map(({ name }) => name);
    assert.deepEqual(agreed, [], JSON.stringify(expect));
    const steps = results.at(-1)?.problems.map((problem) => /^step (\d+)/.exec(problem)?.[1]) ?? [];
    assert.equal(new Set(steps).size, first.steps.length);
  }
});

check('what is no case fails alone, in its place, and every other case of the file is still played', async (t) => {
  const { error_packages = null, scenarios } = await golden();
  const [first = null] = scenarios as JsonValue[];
  const empty = { head: { id: 'X2', title: 'nothing' }, steps: [] };
  const broken = { approvals: 5, error_packages, scenarios: [first, 7, empty, first] };
  const results = await replayVectors(await written(t, { format: VECTOR_FORMAT, ...broken }));
  const failed = results.filter(({ problems }) => problems.length > 0).map(({ name }) => name);
  assert.deepEqual(failed, ['scenarios 2', 'approvals', 'scenarios X2 nothing']);
  assert.equal(results.length, (error_packages as JsonValue[]).length + 2 + failed.length);
});

check('a case that cannot be played, and a section nobody knows, fail alone', async (t) => {
  const { scenarios } = await golden();
  const [first = null] = scenarios as JsonValue[];
  const steps = [{ op: 'toString' }, { op: 'counts' }];
  const file = await written(t, {
    format: VECTOR_FORMAT,
    observed_at: [{ now: 'soon', observed_at: null }],
    scenarios: [first, { head: { id: 'X1', title: 'an odd one' }, steps }, first],
    json_domain_rejections: [{ case: 'array of 2000' }, { case: 'a thought' }],
    new_section: [],
  });
  const results = await replayVectors(file);
  const failed = results.filter(({ problems }) => problems.length > 0).map(({ name }) => name);
  const odd = ['new_section', 'observed_at "soon"', 'json_domain_rejections a thought', 'scenarios X1 an odd one'];
  assert.deepEqual(failed, odd);
  assert.equal(results.length, odd.length + 3);
});

const run = (file: string) =>
  spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts', 'vectors.ts'), file], {
    encoding: 'utf8',
  });

check('the command prints a line a case and the sum, and its exit code is the verdict', async (t) => {
  const format = VECTOR_FORMAT;
  const right = { now: 0, observed_at: '1970-01-01T00:00:00Z' };
  const wrong = { now: 1, observed_at: '1970-01-01T00:00:00Z' };
  const good = run(await written(t, { format, observed_at: [right] }));
  assert.deepEqual([good.status, good.stdout], [0, 'ok observed_at 0\n1 passed, 0 failed\n']);
  const bad = run(await written(t, { format, observed_at: [right, wrong] }));
  assert.equal(bad.status, 1);
  assert.match(bad.stdout, /^ok observed_at 0\nFAILED observed_at 1\n {4}.+\n1 passed, 1 failed\n$/);
  for (const other of [{ format: 'another-1' }, []]) {
    const refused = run(await written(t, other as JsonValue));
    assert.deepEqual([refused.status, refused.stdout], [2, '']);
    assert.match(refused.stderr, /is no file of operations vectors: /);
  }
});
