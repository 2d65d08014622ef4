#!/usr/bin/env node
// The command's front step, in plain JavaScript that any Node.js can read: says what is missing, or goes in.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`holdfast needs Node.js 22.18 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 2;
} else {
  // Node 22 warns of two parts that are stable for what is used of them; every other warning goes its way.
  const warn = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    if (!/SQLite is an experimental feature|Type Stripping is an experimental feature/.test(String(warning)))
      warn.call(process, warning, ...rest);
  };
  // A checkout runs its sources, an installed package its build.
  const sources = new URL('../src/cli/index.ts', import.meta.url);
  const inCheckout = existsSync(sources);
  if (inCheckout) module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/node', import.meta.url)));
  const { endedEarly, fatal, main } = await import(
    inCheckout ? sources : new URL('../dist/cli/index.js', import.meta.url)
  );
  process.umask(0o077);
  // A reader that went away (`| head`) is no reason to stop half-way, nor to say anything.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error) => {
      if (error.code !== 'EPIPE') throw error;
    });
  // The first one is told; what else is thrown until the process has ended comes of it.
  let isEnding = false;
  process.on('uncaughtException', async (error) => {
    if (isEnding) return;
    isEnding = true;
    process.exit(await fatal(error, process.argv.slice(2), process).catch(() => 2));
  });
  const onExit = () => (process.exitCode = endedEarly(Number(process.exitCode ?? 0), process));
  process.on('exit', onExit);
  process.exitCode = await main(process.argv.slice(2), process);
  process.off('exit', onExit);
  // All is done, told and closed. What a configuration or a tool left open (a pool of connections, a timer) is not waited
  // for longer than this; where nothing is open the process has ended before.
  for (const stream of [process.stdout, process.stderr]) await new Promise((written) => stream.write('', written));
  const left = () => {
    const why = 'something that the configuration or a tool opened, and did not close, kept this process open';
    process.stderr.write(`holdfast: ${why}. It ends now.\n`, () => process.exit());
  };
  setTimeout(left, 2000).unref();
}
