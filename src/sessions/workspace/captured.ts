import { ARCHIVE_LIMITS, foldName, nameFault } from '../../archive/index.ts';
import { type FileRow, type FileTable, rowAt, rowsOf } from './file-table.ts';
import type { Capture, SeenFile, Travelling, WorkspaceTree } from './model.ts';
import { sortedTree } from './tree.ts';
import type { Walked } from './capture.ts';

/** What a capture says of a table: made when it is asked for, since a checkpoint needs no more than the tree's id. */
export class Captured implements Capture {
  readonly treeId: string;
  readonly created: boolean;
  readonly filesRead: number;
  readonly #walked: Walked;
  #tree: WorkspaceTree | undefined;
  #rows: Map<string, number> | undefined;

  constructor(walked: Walked, kept: { readonly treeId: string; readonly created: boolean }) {
    this.treeId = kept.treeId;
    this.created = kept.created;
    this.filesRead = walked.filesRead;
    this.#walked = walked;
  }

  get tree(): WorkspaceTree {
    return (this.#tree ??= treeOf(this.#walked));
  }

  seen(path: string): SeenFile | undefined {
    const { table } = this.#walked;
    this.#rows ??= new Map(table.paths.map((one, row) => [one, row]));
    const row = this.#rows.get(path);
    return row === undefined ? undefined : rowAt(table, row);
  }

  travelling(): Travelling {
    return travelling(this.#walked.table);
  }
}

export function treeOf({ table, skipped }: Walked): WorkspaceTree {
  const entryOf = ({ path, blob, size, mode }: FileRow) => ({ path, blob, size, mode });
  return sortedTree(rowsOf(table).map(entryOf), skipped);
}

/** Plain names travel; only the others are looked at part by part. */
const PLAIN = /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+(?:\/(?:[a-z0-9_-]+\.)*[a-z0-9_-]+)*$/;
const DEVICE = /(?:^|\/)(?:con|prn|aux|nul|conin|conout|com\d|lpt\d)(?:\.|\/|$)/;

function travelling({ paths }: FileTable): Travelling {
  const byFold = new Map<string, string[]>();
  const cannotTravel: string[] = [];
  for (const path of paths) {
    const plain = PLAIN.test(path) && !DEVICE.test(path);
    if (!plain && nameFault(path, ARCHIVE_LIMITS) !== undefined) cannotTravel.push(path);
    const folded = plain ? path : foldName(path);
    const same = byFold.get(folded);
    if (same) same.push(path);
    else byFold.set(folded, [path]);
  }
  return { collisions: [...byFold.values()].filter((names) => names.length > 1), cannotTravel };
}
