import { posix } from 'node:path';

export interface Document {
  readonly path: string;
  readonly text: string;
}

/** A fenced block of a document, with the comment line above it. */
export interface CodeBlock {
  readonly path: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** What `<!-- run by: ... -->` above the block says, or undefined. */
  readonly runBy: string | undefined;
}

/** Every link of a document that leads to another file of the repository, with its line. */
export function linksOf({ path, text }: Document): { line: number; target: string; anchor: string | undefined }[] {
  const found: { line: number; target: string; anchor: string | undefined }[] = [];
  const prose = withoutCode(text).split('\n');
  for (const [index, line] of prose.entries())
    for (const [, link = ''] of line.matchAll(/\]\(<?([^)\s>]+)>?\)/g)) {
      if (/^[a-z][a-z+.-]*:/i.test(link)) continue;
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : posix.join(posix.dirname(path), file);
      found.push({ line: index + 1, target, anchor });
    }
  return found;
}

/** The text with code taken out, line numbers kept: links in code are code. */
function withoutCode(text: string): string {
  return text
    .replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/`[^`\n]*`/g, (span) => ' '.repeat(span.length));
}

/** The anchors that a page offers: its headings, as they are spelled in links. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutFences(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => title);
  return new Set(
    headings.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-'),
    ),
  );
}

function withoutFences(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '');
}

/** Links that lead nowhere: `exists` says what there is, `textOf` gives a page for its anchors. */
export function brokenLinks(documents: readonly Document[], exists: (path: string) => boolean): string[] {
  const texts = new Map(documents.map(({ path, text }) => [path, text]));
  const found: string[] = [];
  for (const document of documents)
    for (const { line, target, anchor } of linksOf(document)) {
      const page = texts.get(target);
      if (!exists(target)) found.push(`${document.path}:${line} leads to ${target}, which is not there`);
      else if (anchor !== undefined && page !== undefined && !anchorsOf(page).has(anchor))
        found.push(`${document.path}:${line} leads to #${anchor}, which ${target} does not have`);
    }
  return found;
}

const BLOCK = /(?:<!-- run by: ([^\n]+?) -->\n)?^```([a-z]*)\n([\s\S]*?)^```/gm;

/** The fenced blocks of a document that a reader would type or paste: `sh` and `ts`. */
export function codeBlocks({ path, text }: Document): CodeBlock[] {
  return [...text.matchAll(BLOCK)]
    .filter(([, , language]) => language === 'sh' || language === 'ts')
    .map((match) => ({
      path,
      line: text.slice(0, match.index).split('\n').length,
      language: match[2] ?? '',
      text: match[3] ?? '',
      runBy: match[1],
    }));
}

/**
 * Blocks that nothing runs. A block names the file that runs it, which must exist and either hold each line of the block
 * or read this document itself.
 */
export function blocksNobodyRuns(blocks: readonly CodeBlock[], textOf: (path: string) => string | undefined): string[] {
  return blocks.flatMap((block) => {
    const place = `${block.path}:${block.line}`;
    if (block.runBy === undefined) return [`${place} is run by nothing: say so above it (<!-- run by: FILE -->)`];
    const runner = textOf(block.runBy);
    if (runner === undefined) return [`${place} is run by ${block.runBy}, which is not there`];
    if (runner.includes(block.path)) return [];
    const lines = block.text.split('\n').map((line) => line.replace(/#.*$/, '').trim());
    const absent = lines.filter((line) => line !== '' && !runner.includes(line));
    return absent.map((line) => `${place}: ${block.runBy} does not run '${line}'`);
  });
}
