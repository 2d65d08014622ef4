import {
  codePointLength,
  type ErrorCode,
  type JsonObject,
  type JsonValue,
  type LimitName,
  LIMITS,
} from '../../core/index.ts';
import { type DocumentName, type Documents, isAbsent, recordsOf, textOf } from '../documents.ts';
import type { Finding } from '../finding.ts';
import type { SessionPackage } from '../package.ts';
import { printable } from '../printable.ts';

/** Bounds of the records of a package; one that is named here replaces the usual one. */
export type RecordLimits = Partial<Record<LimitName, number>>;

/** What the checks of one package share: its files and documents, its known identities, and what they found. */
export class DeepContext {
  readonly pkg: SessionPackage;
  readonly documents: Documents;
  readonly findings: Finding[] = [];
  readonly #limits: RecordLimits;
  readonly #known = new Map<string, Set<string>>();

  constructor(pkg: SessionPackage, documents: Documents, limits: RecordLimits) {
    this.pkg = pkg;
    this.documents = documents;
    this.#limits = limits;
  }

  add(code: ErrorCode, text: string): void {
    this.findings.push({ code, text });
  }

  limit(name: LimitName): number {
    return this.#limits[name] ?? LIMITS[name];
  }

  records(document: DocumentName, key: string): readonly JsonObject[] {
    return recordsOf(this.documents, document, key);
  }

  get rootId(): string {
    return textOf(this.#source(), 'root_frame_id') ?? '';
  }

  get projectId(): string {
    return textOf(this.#source(), 'project_id') ?? '';
  }

  #source(): JsonObject | undefined {
    return this.documents.get('session.json')?.['source'] as JsonObject | undefined;
  }

  /** Takes note of an identity; a finding when it is none or was seen before. */
  identify(kind: string, value: JsonValue | undefined): void {
    const known = this.#known.get(kind) ?? new Set();
    this.#known.set(kind, known);
    if (!isIdentity(value)) this.add('PACKAGE_IDENTITY', `a ${kind} has no valid identity`);
    else if (known.has(value)) this.add('PACKAGE_IDENTITY', `duplicate ${kind} identity: ${printable(value, 80)}`);
    else known.add(value);
  }

  knows(kind: string, value: JsonValue | undefined): boolean {
    return typeof value === 'string' && this.#known.get(kind)?.has(value) === true;
  }

  /** A reference that must be there and must lead somewhere. */
  refer(from: string, kind: string, value: JsonValue | undefined): void {
    if (!this.knows(kind, value)) this.add('PACKAGE_IDENTITY', `${from} references an unknown identity (${kind})`);
  }

  /** A reference that may be absent, but must lead somewhere where it is not. */
  referIfPresent(from: string, kind: string, value: JsonValue | undefined): void {
    if (!isAbsent(value)) this.refer(from, kind, value);
  }
}

export function isIdentity(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && codePointLength(value) <= LIMITS.packageIdCodePoints;
}
