import fc from 'fast-check';
import { HoldfastError, type JsonObject, type JsonValue } from '../../src/core/index.ts';
import { editDocument, type Files, filesOf, resealed } from '../archive/support/packages.ts';
import { readAll } from '../archive/support/read-all.ts';
import { ROOT } from '../contracts/packages/source.ts';
import { superviseSource } from '../contracts/packages/supervised.ts';
import { openPackageWorld, OWNER } from '../contracts/packages/world.ts';
import { assert, check } from '../support/index.ts';
import { differences, meaningOf, sealInside } from './package-meaning.ts';

const NAMES = ['b-notebook', 'c-branches', 'd2-deliveries', 'e-native-tools', 'supervised'] as const;

async function sources(): Promise<Map<string, Files>> {
  const found = new Map<string, Files>();
  for (const name of NAMES) if (name !== 'supervised') found.set(name, await filesOf(name));
  await using world = await openPackageWorld();
  await superviseSource(world);
  using exported = await world.packages.export(OWNER, ROOT);
  found.set('supervised', await readAll(exported.data()));
  return found;
}

/** What arrives, as it would leave again. Undefined where it is refused; an error that is no refusal is thrown. */
async function arrives(bytes: Buffer): Promise<string[] | undefined> {
  await using world = await openPackageWorld();
  let root: string;
  try {
    root = (await world.packages.import(OWNER, bytes)).root_frame_id;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code === 'UNEXPECTED') throw error;
    for (const table of ['projects', 'sessions', 'auto_mode_runs']) assert.equal(world.count(table), 0, table);
    return undefined;
  }
  requireInert(world.count("permission_rules WHERE decision = 'allow'"), 'a rule allows');
  requireInert(world.count('capability_states WHERE enabled = 1'), 'a capability is on');
  requireInert(world.count("auto_mode_runs WHERE status <> 'unverified_import'"), 'a run is more than imported');
  requireInert(world.count("cells WHERE replay_policy <> 'never'"), 'a cell may be run again');
  using exported = await world.packages.export(OWNER, root);
  return meaningOf(await readAll(exported.data()));
}

const requireInert = (rows: number, what: string): void => assert.equal(rows, 0, what);

function requireSame(arrived: readonly string[] | undefined, said: readonly string[], name: string): void {
  assert.ok(arrived, `${name} was refused`);
  assert.deepEqual(differences(said, arrived), [[], []], name);
}

const SOURCES = await sources();

check('every real package means after an import what it meant before', async () => {
  for (const [name, files] of SOURCES) requireSame(await arrives(resealed(new Map(files))), meaningOf(files), name);
});

type Holder = JsonObject | JsonValue[];

/** Every place in a document that holds a value. */
function placesIn(value: JsonValue, found: [Holder, string | number][] = []): [Holder, string | number][] {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    found.push([value as Holder, key]);
    placesIn(member, found);
  }
  return found;
}

const STRANGE: readonly JsonValue[] = [null, true, 0, 1, 2, 999, -1, 1.5, '', 'x', 'root', 'allow', 'verified', [], {}];

interface Edit {
  readonly document: string;
  readonly at: number;
  readonly as: 'strange' | 'elsewhere' | 'gone' | 'twice' | 'longer';
  readonly pick: number;
}

/** One change of a document: a value replaced, by a strange one or by another of the document, removed, or repeated. */
function change(files: Files, { document, at, as, pick }: Edit): void {
  editDocument(files, document, (content) => {
    const places = placesIn(content);
    const [holder, key] = places[Math.floor(at * places.length)] ?? [content, ''];
    const [other, name] = places[Math.floor(pick * places.length)] ?? [content, ''];
    const now = (holder as Record<string | number, JsonValue>)[key];
    const values: Record<Edit['as'], JsonValue | undefined> = {
      strange: STRANGE[Math.floor(pick * STRANGE.length)],
      elsewhere: structuredClone((other as Record<string | number, JsonValue>)[name]),
      gone: undefined,
      twice: Array.isArray(now) ? [...now, ...structuredClone(now)] : now,
      longer: typeof now === 'string' ? `${now} and more` : typeof now === 'number' ? now + 1 : now,
    };
    const value = values[as];
    if (value !== undefined) (holder as Record<string | number, JsonValue>)[key] = value;
    else if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  });
}

const DOCUMENTS = ['session', 'ledger', 'notebook', 'snapshots', 'artifacts', 'environment', 'review', 'plans'];
const MORE = ['memory', 'permissions', 'capabilities', 'lineage'];
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const edit = fc.record({
  document: fc.constantFrom(...[...DOCUMENTS, ...MORE].map((name) => `${name}.json`)),
  at: place,
  as: fc.constantFrom<Edit['as']>('strange', 'elsewhere', 'gone', 'twice', 'longer'),
  pick: place,
});

check('a package that was changed, with every digest made to fit, arrives as what it says, or not at all', async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...NAMES), fc.array(edit, { minLength: 1, maxLength: 2 }), async (name, edits) => {
      const files: Files = new Map(SOURCES.get(name));
      for (const one of edits) change(files, one);
      sealInside(files);
      const arrived = await arrives(resealed(files));
      if (arrived === undefined) return;
      taken += 1;
      requireSame(arrived, meaningOf(files), name);
    }),
    { numRuns: 100, seed: 411 },
  );
  assert.ok(taken > 20, `only ${taken} were taken`);
});
