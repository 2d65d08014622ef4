import { FAULT_POINTS } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { repositoryTexts } from './repository-files.ts';

const REACHES = /\.reach\(\s*'([a-z-]+)'/g;

/** The names that no text reaches, and those that are reached without being a name. */
function unfit(names: readonly string[], texts: Iterable<string>): { unreached: string[]; unknown: string[] } {
  const reached = new Set([...texts].flatMap((text) => [...text.matchAll(REACHES)].map(([, name]) => String(name))));
  const known = new Set(names);
  return {
    unreached: names.filter((name) => !reached.has(name)),
    unknown: [...reached].filter((name) => !known.has(name)),
  };
}

check('each fault point is reached by some source: a crash test of a name that nothing reaches proves nothing', () => {
  const sources = [...repositoryTexts()].filter(({ path }) => path.startsWith('src/') && path.endsWith('.ts'));
  assert.ok(sources.length > 100);
  assert.deepEqual(
    unfit(
      FAULT_POINTS,
      sources.map(({ text }) => text),
    ),
    { unreached: [], unknown: [] },
  );
});

check('a point that is only named, and one that has no name, are found', () => {
  const bad = [
    "const POINTS = ['lost', 'met'];",
    "await faults.reach('met', 1);",
    "void this.#faults.reach(\n  'new-one',\n);",
  ];
  assert.deepEqual(unfit(['lost', 'met'], bad), { unreached: ['lost'], unknown: ['new-one'] });
});
