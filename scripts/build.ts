// npm run build · node scripts/build.ts --out FOLDER
// Makes dist/ from src/: JavaScript, bundled, and declarations, file for file.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';

const root = join(import.meta.dirname, '..');
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });

rmSync(values.out, { recursive: true, force: true });
bundle(values.out);
const declarations = [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', values.out];
const { status } = spawnSync(process.execPath, declarations, { stdio: 'inherit' });
process.exit(status ?? 1);
