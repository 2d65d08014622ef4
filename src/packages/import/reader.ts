import {
  type DocumentName,
  type Documents,
  type LedgerNames,
  type LedgerPart,
  ledgerParts,
  namesOfLedger,
  recordsOf,
  type SessionPackage,
} from '../../archive/index.ts';
import { fail, isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { Fields } from './fields.ts';

/** A package whose documents passed the preflight. */
export class PackageReader {
  readonly pkg: SessionPackage;
  readonly #documents: Documents;

  constructor(pkg: SessionPackage, documents: Documents) {
    this.pkg = pkg;
    this.#documents = documents;
  }

  document(name: DocumentName): Fields {
    return new Fields(this.#documents.get(name) ?? {}, name);
  }

  records(name: DocumentName, key: string): readonly JsonObject[] {
    return recordsOf(this.#documents, name, key);
  }

  /** The groups of the ledger with their events, read from the package as they are asked for. */
  ledgerParts(): AsyncIterable<LedgerPart> {
    return ledgerParts(this.pkg.passing('ledger.json'), this.#documents.get('ledger.json'));
  }

  /** The names of the events and calls in the ledger. */
  get ledgerNames(): LedgerNames {
    return namesOfLedger(this.#documents.get('ledger.json'));
  }

  get source(): Fields {
    return new Fields(this.document('session.json').object('source') ?? {}, 'session.json');
  }

  get sourceRoot(): string {
    return this.source.needText('root_frame_id');
  }

  get sourceProject(): string {
    return this.source.needText('project_id');
  }

  get activeBranch(): string {
    return this.source.filled('active_branch_id') ?? this.sourceRoot;
  }

  get workspace(): Fields {
    return new Fields(this.document('snapshots.json').object('workspace') ?? {}, 'the workspace');
  }

  /** The packaged tree of a tree of the source; null where there is none. */
  treeOf(source: JsonValue): string | null {
    const map = this.workspace.object('tree_map') ?? {};
    const id = typeof source === 'string' && Object.hasOwn(map, source) ? map[source] : null;
    return typeof id === 'string' ? id : null;
  }

  get treeIds(): string[] {
    const map = this.workspace.object('tree_map') ?? {};
    return [...new Set(Object.values(map).filter((id) => typeof id === 'string'))];
  }
}

export function requireObject(value: JsonValue, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw fail('PACKAGE_DOCUMENT_INVALID', `${what} is missing or of a wrong type.`);
}
