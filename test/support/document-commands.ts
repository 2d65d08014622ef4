import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** The lines of a document's `sh` blocks that begin with `word`, in order, without their comments. */
export function commandsOf(document: string, word: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  return blocks
    .flatMap((block) => block.split('\n'))
    .map((line) => line.replace(/ #.*$/, '').trim())
    .filter((line) => line.startsWith(`${word} `));
}
