import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

/** Runs a program that notes every module that is asked for, or refuses those of OpenTelemetry. */
function inChild(folder: string, body: string, hook: 'note' | 'refuse'): { readonly lines: readonly string[] } {
  const at = (path: string): string => JSON.stringify(join(ROOT, path));
  const program = `
    import { registerHooks } from 'node:module';
    const asked = [];
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier.includes('opentelemetry')) {
          asked.push(specifier);
          if (${JSON.stringify(hook)} === 'refuse') throw Object.assign(new Error('none'), { code: 'ERR_MODULE_NOT_FOUND' });
        }
        return next(specifier, context);
      },
    });
    const { Holdfast, openTelemetry } = await import(${at('src/index.ts')});
    const { openGateway } = await import(${at('src/gateway/index.ts')});
    await import(${at('src/client/index.ts')});
    await import(${at('src/cli/index.ts')});
    const dataDir = ${JSON.stringify(join(folder, 'data'))};
    ${body}
    console.log('asked', JSON.stringify(asked));
  `;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return { lines: stdout.trim().split('\n') };
}

const WORK = `
  const holdfast = await Holdfast.open({ dataDir });
  const run = await holdfast.agent({ model: () => 'done' }).run('go');
  console.log('run', run.status);
  const gateway = await openGateway({ holdfast });
  console.log('ready', (await fetch(gateway.url + '/readyz')).status);
  await gateway.close();
  await holdfast.close();
`;

check('nothing of OpenTelemetry is loaded by the library, the gateway, the client or the command', async (t) => {
  const { lines } = inChild(await temporaryFolder(t), WORK, 'note');
  assert.deepEqual(lines, ['run completed', 'ready 200', 'asked []']);
});

check(
  'everything works where the package is not installed, and asking for telemetry says what to install',
  async (t) => {
    const ask = `await openTelemetry().catch((error) => console.log(error.code, error.resolve));`;
    const { lines } = inChild(await temporaryFolder(t), `${WORK}${ask}`, 'refuse');
    assert.deepEqual(lines, [
      'run completed',
      'ready 200',
      'TELEMETRY_MISSING Install it beside holdfast: `npm install @opentelemetry/api`.',
      'asked ["@opentelemetry/api"]',
    ]);
  },
);
