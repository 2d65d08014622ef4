import {
  fail,
  type Ids,
  isJsonObject,
  type JsonObject,
  JsonNumber,
  type JsonValue,
  sha256Hex,
  TextList,
  type TextTable,
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
  readonly #large = new Map<IdentityKind, LargeMap>();

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

  /** Names of a kind of which there may be very many: each gets a new one when it is first asked for. */
  adopt(kind: IdentityKind, names: TextTable): void {
    this.#large.set(kind, new LargeMap(names, this.#ids));
  }

  /** The new name of an old one; the same each time. */
  take(kind: IdentityKind, old: string): string {
    const large = this.#large.get(kind);
    if (large) return large.take(old);
    const map = this.#of(kind);
    const known = map.get(old);
    if (known !== undefined) return known;
    const fresh = this.#ids.next();
    map.set(old, fresh);
    return fresh;
  }

  bind(kind: IdentityKind, old: string, fresh: string): void {
    const large = this.#large.get(kind);
    if (large) large.bind(old, fresh);
    else this.#of(kind).set(old, fresh);
  }

  #found(kind: IdentityKind, old: string): string | null {
    return this.#large.get(kind)?.find(old) ?? this.#maps.get(kind)?.get(old) ?? null;
  }

  /** Whether this is an old name of the kind. */
  has(kind: IdentityKind, old: string): boolean {
    return this.#large.get(kind)?.has(old) === true || this.#maps.get(kind)?.has(old) === true;
  }

  /** A name that follows from the session's and the old one. */
  derive(kind: DerivedKind, old: string): string {
    const fresh = sha256Hex([this.root, kind, old].join('\0')).slice(0, 32);
    this.bind(kind, old, fresh);
    return fresh;
  }

  /** The new name, or null where the old one is absent or not in the package. */
  find(kind: IdentityKind, old: JsonValue): string | null {
    return typeof old === 'string' ? this.#found(kind, old) : null;
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

  /** The names of a kind that was not adopted. */
  mapOf(kind: IdentityKind): ReadonlyMap<string, string> {
    return this.#of(kind);
  }

  countOf(kind: IdentityKind): number {
    return this.#large.get(kind)?.size ?? this.#of(kind).size;
  }

  /** A copy in which every text that is an old name of one of these kinds is the new one. */
  rename(value: JsonValue, kinds: readonly IdentityKind[]): JsonValue {
    if (typeof value === 'string') {
      for (const kind of kinds) {
        const fresh = this.#found(kind, value);
        if (fresh !== null) return fresh;
      }
      return value;
    }
    if (Array.isArray(value)) return value.map((item) => this.rename(item, kinds));
    if (!isJsonObject(value) || value instanceof JsonNumber) return value;
    return mapMembers(value, (member) => this.rename(member, kinds));
  }

  /** PACKAGE_IDENTITY when a member whose key ends in `_id` or `_ids` still holds an old name. */
  requireRenamed(value: JsonValue): void {
    if (Array.isArray(value)) for (const item of value) this.requireRenamed(item);
    if (!isJsonObject(value)) return;
    for (const [key, member] of Object.entries(value)) {
      const named = Array.isArray(member) ? member : [member];
      if (/_ids?$/.test(key) && named.some((name) => typeof name === 'string' && this.#isOld(name)))
        throw fail('PACKAGE_IDENTITY', 'A sealed state keeps an unknown identity of its source.');
      this.requireRenamed(member);
    }
  }

  /** Whether this is an old name of any kind. */
  #isOld(name: string): boolean {
    const maps = [...this.#maps.values(), ...this.#large.values()];
    return maps.some((map) => map.has(name));
  }
}

/** New names for very many old ones, old and new outside the heap. */
class LargeMap {
  readonly #old: TextTable;
  readonly #ids: Ids;
  readonly #fresh = new TextList();
  /** For each old name the number of its new one plus one; 0 before it has one. */
  #of: Uint32Array;

  constructor(old: TextTable, ids: Ids) {
    this.#old = old;
    this.#ids = ids;
    this.#of = new Uint32Array(Math.max(64, old.size));
  }

  get size(): number {
    return this.#old.size;
  }

  has(old: string): boolean {
    return this.#old.find(old) >= 0;
  }

  find(old: string): string | null {
    const number = this.#old.find(old);
    return number < 0 ? null : this.#freshOf(number);
  }

  take(old: string): string {
    return this.#freshOf(this.#old.add(old));
  }

  bind(old: string, fresh: string): void {
    this.#set(this.#old.add(old), fresh);
  }

  #freshOf(number: number): string {
    const at = this.#of[number] ?? 0;
    return at === 0 ? this.#set(number, this.#ids.next()) : this.#fresh.at(at - 1);
  }

  #set(number: number, fresh: string): string {
    if (number >= this.#of.length) {
      const more = new Uint32Array(2 * number);
      more.set(this.#of);
      this.#of = more;
    }
    this.#of[number] = this.#fresh.push(fresh) + 1;
    return fresh;
  }
}

export function mapMembers(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}
