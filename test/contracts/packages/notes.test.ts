import type { JsonObject } from '../../../src/core/index.ts';
import { reproductionNotes } from '../../../src/packages/index.ts';
import { assert, contract } from '../../support/index.ts';

const PYTHON: JsonObject = { kind: 'python', python_version: '3.12.0', platform: 'macOS-15', package_count: 42 };

function notes(snapshots: readonly JsonObject[], generations = 0): string {
  return reproductionNotes({
    rootFrameId: 'f-source',
    projectName: 'Protein study',
    environment: {
      generations: Array.from({ length: generations }, (_, i) => ({ generation_id: `g${i}` })),
      artifact_environment_snapshots: [...snapshots],
    },
    artifacts: { artifacts: [{ artifact_id: 'a' }, { artifact_id: 'b' }] },
    lineage: [{ input_version_id: 'a', output_version_id: 'b' }],
  }).toString();
}

contract('PKG-175 PKG-179', 'the notes read the documents as they are exported, and say what was not recorded', () => {
  const text = notes([PYTHON], 1);
  for (const part of [
    'python 3.12.0 on macOS-15',
    '42 package(s)',
    'kernel generations recorded: 1',
    '`2` artifact(s)',
    '`1` lineage edge(s)',
  ])
    assert.ok(text.includes(part), part);
  assert.doesNotMatch(text, /unknown/);
  assert.match(notes([]), /not recorded for any artifact/);
});

contract('PKG-176 PKG-177 PKG-178', 'every environment that can be told apart has a line of its own', () => {
  const [python, r] = [
    { ...PYTHON, platform: 'linux' },
    { kind: 'r', python_version: '', platform: 'linux', packages: [] },
  ];
  assert.match(notes([python, r]), /runtime: python 3\.12\.0 on linux/);
  assert.match(notes([python, r]), /runtime: r on linux/);
  const two = notes([
    { ...PYTHON, environment_name: 'phylo', generation_id: 'g1', package_count: 40 },
    { ...PYTHON, environment_name: 'struct', generation_id: 'g2', package_count: 12 },
  ]);
  assert.equal(two.split('- runtime:').length, 3);
  for (const part of ['(phylo)', '40 package(s)', '(struct)', '12 package(s)']) assert.ok(two.includes(part), part);
  const both = notes([
    { ...r, environment_name: 'r-4.3', generation_id: 'g1' },
    { ...r, environment_name: 'r-4.4', generation_id: 'g2' },
  ]);
  assert.equal(both.split('- runtime:').length, 3);
  for (const part of ['(r-4.3)', '(r-4.4)']) assert.ok(both.includes(part), part);
});

contract('PKG-180', 'equal input gives equal bytes', () => {
  assert.equal(notes([PYTHON], 1), notes([PYTHON], 1));
});
