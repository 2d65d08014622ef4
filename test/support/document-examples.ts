import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..', '..');
const DOORS: Readonly<Record<string, string>> = {
  holdfast: pathToFileURL(join(ROOT, 'src', 'index.ts')).href,
  'holdfast/store/sqlite': pathToFileURL(join(ROOT, 'src', 'store', 'sqlite', 'index.ts')).href,
  'holdfast/runs': pathToFileURL(join(ROOT, 'src', 'runs', 'file-home.ts')).href,
  'holdfast/mcp': pathToFileURL(join(ROOT, 'src', 'mcp', 'index.ts')).href,
};

/** The `ts` blocks of a document, in order. */
export function blocksOf(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
}

/** Runs an example as it stands in a folder of its own; `given` are the lines before it that define what it takes. */
export async function runExample(
  folder: string,
  name: string,
  example: string,
  given: readonly string[] = [],
): Promise<Readonly<Record<string, unknown>>> {
  const resolved = example.replaceAll(/ from '([^']+)';/g, (_, from: string) => {
    const target = DOORS[from] ?? import.meta.resolve(from);
    return ` from ${JSON.stringify(target)};`;
  });
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, `${given.join('\n')}\n${resolved}`);
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
}
