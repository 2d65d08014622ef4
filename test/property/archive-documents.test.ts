import { bytesSource, diffPackages, examinePackage, inspectPackage, openPackage } from '../../src/archive/index.ts';
import { type JsonObject, type JsonValue } from '../../src/core/index.ts';
import { dice } from '../archive/support/fuzz.ts';
import { editDocument, type Files, filesOf, oracle, resealed } from '../archive/support/packages.ts';
import { assert, check } from '../support/index.ts';

const SEED = 411;
const RUNS = 150;
const NAMES = ['b-notebook', 'c-branches', 'd2-deliveries', 'e-native-tools'] as const;

const STRANGE: readonly JsonValue[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53 - 1,
  10n ** 30n,
  '',
  'x',
  '__proto__',
  'toString',
  'constructor',
  '\u202e',
  [],
  [null],
  [[]],
  {},
  { constructor: 1 },
  { path: '../x' },
  'x'.repeat(600),
];

type Holder = JsonObject | JsonValue[];

/** Every place in a document that holds a value. */
function placesIn(value: JsonValue, found: [Holder, string | number][] = []): [Holder, string | number][] {
  if (typeof value !== 'object' || value === null) return found;
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, member] of entries) {
    found.push([value as Holder, key]);
    placesIn(member, found);
  }
  return found;
}

/** A package of which some values were replaced, removed or repeated, under a manifest that fits again. */
function strange(files: Files, seed: number): Buffer {
  const random = dice(seed);
  const copy: Files = new Map(files);
  const documents = [...files.keys()].filter((path) => path.endsWith('.json') && path !== 'manifest.json');
  for (let edits = 1 + random.below(3); edits > 0; edits -= 1)
    editDocument(copy, random.pick(documents), (document) => {
      const place = random.pick<[Holder, string | number] | undefined>(placesIn(document));
      if (!place) return;
      const [holder, key] = place;
      const value = structuredClone(random.pick(STRANGE));
      if (Array.isArray(holder)) holder.splice(Number(key), 1, ...(random.chance(0.3) ? [] : [value]));
      else if (random.chance(0.3)) delete holder[key];
      else holder[key] = value;
    });
  return resealed(copy);
}

const packages: Files[] = [];
for (const name of NAMES) packages.push(await filesOf(name));

check(`documents with strange values (seed ${SEED}) are judged, shown and compared, and end in no crash`, async () => {
  let importable = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const bytes = strange(packages[run % packages.length] as Files, SEED + run);
    const source = bytesSource(bytes);
    const { findings } = await examinePackage(await openPackage(source));
    if (findings.length === 0) importable += 1;
    const inspection = await inspectPackage(source);
    assert.equal(inspection.verified, true, `seed ${SEED + run}`);
    await diffPackages(source, bytesSource(oracle(NAMES[run % NAMES.length] as string)));
  }
  assert.ok(importable > 0 && importable < RUNS, `${importable} of ${RUNS} stay importable`);
});
