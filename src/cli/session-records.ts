import { resolve } from 'node:path';
import { canonicalJson, displayText, fail } from '../core/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { moreLine } from './pages.ts';
import { unlessDefault } from './session-commands.ts';
import { checkTarget } from './target-file.ts';
import { writeWholeFile } from './whole-file.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

export interface PageOptions extends RunOptions {
  readonly limit: string;
  readonly after?: string;
}

/** What is recorded in a session of one kind, as documents; without a kind, how much there is of each. */
export function records(
  context: CommandContext,
  id: string,
  kind: string | undefined,
  options: PageOptions,
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime: { store, principal } }) => {
    const sessions = await import('../sessions/index.ts');
    const shape = sessions.RECORD_SHAPES.find((one) => one.kind === kind);
    if (kind !== undefined && !shape)
      throw fail('USAGE', `The kinds of records are ${sessions.RECORD_KINDS.join(', ')}.`);
    const query = { limit: Number(options.limit), ...(options.after === undefined ? {} : { after: options.after }) };
    const { counts, page } = await store.read('cli.records', async (tx) => {
      await sessions.requireSession(tx, principal, id);
      const found = shape && (await sessions.listRecords(tx, principal, id, shape, query));
      return { counts: await sessions.countAllRecords(tx, id), page: found ?? { items: [], next: null } };
    });
    const documents = page.items.map((one) => (shape ? sessions.documentOf(shape, one) : {}));
    context.output.result({
      document: { session_id: id, counts, records: documents, next: page.next },
      lines: (colours) => [
        ...(shape ? documents.map((one) => displayText(canonicalJson(one))) : countLines(counts)),
        ...(page.next === null
          ? []
          : [moreLine(colours, `sessions records ${id} ${kind}`, unlessDefault(options), `--after ${page.next}`)]),
      ],
    });
    return 0;
  });
}

const countLines = (counts: Readonly<Record<string, number>>): string[] => {
  const lines = Object.entries(counts).map(([kind, count]) => `${kind}: ${count}`);
  return lines.length === 0 ? ['Nothing is recorded yet.'] : lines;
};

/** Writes the bytes of an artifact version to a file, proved: the file is whole and right, or not there. */
export function artifact(
  context: CommandContext,
  versionId: string,
  options: RunOptions & { readonly to?: string },
): Promise<ExitCode> {
  if (options.to !== undefined)
    checkTarget({
      what: 'the artifact’s file',
      path: options.to,
      name: 'artifact',
      command: (path) => `holdfast sessions artifact ${versionId} --to ${path}`,
    });
  return withoutAgents(context, options, async ({ runtime: { histories, principal } }) => {
    const { version, bytes } = await histories.artifacts.read(principal, versionId);
    if (options.to === undefined) throw fail('USAGE', 'Say with --to which file to make.');
    const file = resolve(options.to);
    await writeWholeFile('the artifact’s file', file, bytes);
    const { filename, sizeBytes: size_bytes, snapshotSha256: sha256 } = version;
    context.output.result({
      document: { file, version_id: versionId, filename, size_bytes, sha256 },
      lines: () => [`${file}: ${size_bytes} bytes of ${displayText(filename)}`, `  SHA-256  ${sha256}`],
    });
    return 0;
  });
}
