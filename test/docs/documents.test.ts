import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check } from '../support/index.ts';
import { ROOT, repositoryTexts, textOf } from '../structure/repository-files.ts';
import { blocksNobodyRuns, brokenLinks, codeBlocks, type Document } from '../structure/rules/documents.ts';

const documents: Document[] = [...repositoryTexts()].filter(({ path }) => path.endsWith('.md'));
const forReaders = documents.filter(({ path }) => !path.startsWith('docs/contracts/') && !path.startsWith('test/'));

check('every link of every document leads somewhere', () => {
  assert.deepEqual(
    brokenLinks(documents, (path) => existsSync(join(ROOT, path))),
    [],
  );
});

check('every command and every example that a reader would copy is run by something', () => {
  assert.deepEqual(
    blocksNobodyRuns(forReaders.flatMap(codeBlocks), (path) =>
      existsSync(join(ROOT, path)) ? textOf(path) : undefined,
    ),
    [],
  );
});

check('a link to a file or heading that is not there is seen, and links in code are no links', () => {
  const pages: Document[] = [
    {
      path: 'docs/a.md',
      text: '# Title here\n[x](b.md) [y](c.md#no-such) `[z](d.md)`\n```\n[q](e.md)\n```\n[s](#title-here)',
    },
    {
      path: 'docs/c.md',
      text: '## Yes, `this` one\n[up](../a.md) [w](c.md#yes-this-one) [web](https://example.org/x)',
    },
  ];
  const seen = brokenLinks(pages, (path) => ['docs/a.md', 'docs/c.md'].includes(path));
  assert.deepEqual(seen, [
    'docs/a.md:2 leads to docs/b.md, which is not there',
    'docs/a.md:2 leads to #no-such, which docs/c.md does not have',
    'docs/c.md:2 leads to a.md, which is not there',
  ]);
});

check('a block that nothing runs, or whose runner does not run it, is seen', () => {
  const fence = '```';
  const text = [
    `${fence}sh\nnpm one\n${fence}`,
    `<!-- run by: gone.ts -->\n${fence}ts\ntwo();\n${fence}`,
    `<!-- run by: here.ts -->\n${fence}sh\nnpm three # why\nnpm four\n${fence}`,
    `<!-- run by: reader.ts -->\n${fence}ts\nfive();\n${fence}`,
    `${fence}json\n{}\n${fence}`,
  ].join('\n\n');
  const runners = new Map([
    ['here.ts', "run('npm three')"],
    ['reader.ts', "blocksOf('docs/a.md')"],
  ]);
  const seen = blocksNobodyRuns(codeBlocks({ path: 'docs/a.md', text }), (path) => runners.get(path));
  assert.equal(seen.length, 3);
  assert.match(seen[0] ?? '', /^docs\/a\.md:1 is run by nothing/);
  assert.match(seen[1] ?? '', /^docs\/a\.md:5 is run by gone\.ts, which is not there/);
  assert.match(seen[2] ?? '', /does not run 'npm four'/);
});
