import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyFingerprint } from '../../src/archive/index.ts';
import { ERROR_TABLE, LIMITS } from '../../src/core/index.ts';
import { ORACLE_FOLDER } from '../archive/support/packages.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';

check('the commands of docs/verify.md run, one after another', async (t) => {
  const home = await temporaryFolder(t);
  copyFileSync(join(ORACLE_FOLDER, 'b-notebook.zip'), join(home, 'package.zip'));
  const commands = commandsOf('docs/verify.md', 'holdfast');
  assert.ok(commands.length >= 7);
  for (const command of commands) {
    const { exit, stdout, stderr } = await holdfast(command.split(' ').slice(1), { cwd: home });
    assert.equal(exit, 0, `${command}: ${stderr}`);
    const [key = ''] = stdout.split('\n');
    if (command.includes('keys new')) writeFileSync(join(home, 'trusted.txt'), `${key} Alice Example\n`);
    if (command.includes('keys new')) assert.match(stdout, new RegExp(keyFingerprint(key)));
  }
});

check('the example of docs/verify.md uses names that holdfast/packages has', async () => {
  const text = readFileSync(join(ROOT, 'docs/verify.md'), 'utf8');
  const [, names = ''] = /import \{ (.+) \} from 'holdfast\/packages'/.exec(text) ?? [];
  const door = await import('../../src/archive/index.ts');
  for (const name of names.split(', ')) assert.ok(name in door, name);
});

check('docs/formats/package.md lists every code of archives and packages, and bounds as they are', () => {
  const page = readFileSync(join(ROOT, 'docs/formats/package.md'), 'utf8');
  for (const code of Object.keys(ERROR_TABLE).filter((name) => /^(?:ARCHIVE|PACKAGE)_/.test(name)))
    assert.ok(page.includes(`](../errors/${code}.md)`), code);
  const mib = (bytes: number) => `${bytes / 1024 / 1024} MiB`;
  assert.ok(page.includes(`| archive | ${mib(LIMITS.archiveBytes)} |`));
  assert.ok(page.includes(`| all members together, as declared | ${mib(LIMITS.archiveTotalBytes)} |`));
  assert.ok(page.includes(`| one member, as declared | ${mib(LIMITS.archiveMemberBytes)} |`));
  assert.ok(page.includes(`| growth of one member | ${LIMITS.archiveRatio} times |`));
});
