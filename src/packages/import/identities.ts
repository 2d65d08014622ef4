import {
  fail,
  type Ids,
  isJsonObject,
  type JsonObject,
  JsonNumber,
  type JsonValue,
  sha256Hex,
} from '../../core/index.ts';

/** Kinds of identities that a package has, each with names of its own. */
export type IdentityKind =
  | 'branch'
  | 'message'
  | 'group'
  | 'turn'
  | 'event'
  | 'action'
  | 'call'
  | 'wire'
  | 'attempt'
  | 'cell'
  | 'checkpoint'
  | 'generation'
  | 'environment'
  | 'artifact'
  | 'version'
  | 'delivery'
  | 'plan'
  | 'review'
  | 'annotation'
  | 'memory'
  | 'operation'
  | 'recovery';

/** Kinds whose identities follow from the old ones, so that one object gets one new name in every sealed state. */
export type DerivedKind = 'plan' | 'review' | 'annotation' | 'memory';

/** The new identity of everything in one import. All of a kind are allocated before the first row is written. */
export class Identities {
  readonly projectId: string;
  readonly root: string;
  readonly #ids: Ids;
  readonly #maps = new Map<IdentityKind, Map<string, string>>();

  constructor(ids: Ids) {
    this.#ids = ids;
    this.projectId = ids.next();
    this.root = ids.next();
  }

  #of(kind: IdentityKind): Map<string, string> {
    const known = this.#maps.get(kind);
    if (known) return known;
    const fresh = new Map<string, string>();
    this.#maps.set(kind, fresh);
    return fresh;
  }

  /** The new name of an old one; the same each time. */
  take(kind: IdentityKind, old: string): string {
    const map = this.#of(kind);
    const known = map.get(old);
    if (known !== undefined) return known;
    const fresh = this.#ids.next();
    map.set(old, fresh);
    return fresh;
  }

  bind(kind: IdentityKind, old: string, fresh: string): void {
    this.#of(kind).set(old, fresh);
  }

  /** A name that follows from the session's and the old one. */
  derive(kind: DerivedKind, old: string): string {
    const fresh = sha256Hex([this.root, kind, old].join('\0')).slice(0, 32);
    this.bind(kind, old, fresh);
    return fresh;
  }

  /** The new name, or null where the old one is absent or not in the package. */
  find(kind: IdentityKind, old: JsonValue): string | null {
    return typeof old === 'string' ? (this.#of(kind).get(old) ?? null) : null;
  }

  /** The new name of what must be in the package: PACKAGE_IDENTITY. */
  need(kind: IdentityKind, old: JsonValue, from: string): string {
    const fresh = this.find(kind, old);
    if (fresh === null) throw fail('PACKAGE_IDENTITY', `${from} references an unknown identity (${kind})`);
    return fresh;
  }

  /** Null where absent, else as `need`. */
  needIfPresent(kind: IdentityKind, old: JsonValue, from: string): string | null {
    return old === null || old === '' ? null : this.need(kind, old, from);
  }

  mapOf(kind: IdentityKind): ReadonlyMap<string, string> {
    return this.#of(kind);
  }

  /** A copy in which every text that is an old name of one of these kinds is the new one. */
  rename(value: JsonValue, kinds: readonly IdentityKind[]): JsonValue {
    if (typeof value === 'string') {
      for (const kind of kinds) {
        const fresh = this.#of(kind).get(value);
        if (fresh !== undefined) return fresh;
      }
      return value;
    }
    if (Array.isArray(value)) return value.map((item) => this.rename(item, kinds));
    if (!isJsonObject(value) || value instanceof JsonNumber) return value;
    return mapMembers(value, (member) => this.rename(member, kinds));
  }

  /** PACKAGE_IDENTITY when a member whose key ends in `_id` or `_ids` still holds an old name. */
  requireRenamed(value: JsonValue, old: ReadonlySet<string>): void {
    if (Array.isArray(value)) for (const item of value) this.requireRenamed(item, old);
    if (!isJsonObject(value)) return;
    for (const [key, member] of Object.entries(value)) {
      const named = Array.isArray(member) ? member : [member];
      if (/_ids?$/.test(key) && named.some((name) => typeof name === 'string' && old.has(name)))
        throw fail('PACKAGE_IDENTITY', 'A sealed state keeps an unknown identity of its source.');
      this.requireRenamed(member, old);
    }
  }

  /** Every old name that has a new one. */
  oldNames(): Set<string> {
    return new Set([...this.#maps.values()].flatMap((map) => [...map.keys()]));
  }
}

export function mapMembers(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}
