import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, type JsonValue, nodeFileSystem } from '../../../src/core/index.ts';
import { SafeText } from '../../../src/packages/export/safe-text.ts';
import { RecordPage, RecordTexts, StagedFiles, StagedRecord } from '../../../src/packages/export/staged.ts';
import { assert, check, temporaryFolder } from '../../support/index.ts';

/** What a document is written through at a time. */
const BUFFER_BYTES = 256 * 1024;
/** Units of one, two, three and four bytes. */
const UNITS = ['a', 'é', '€', '😀'];

async function* only<T extends JsonValue | RecordPage | RecordTexts | StagedRecord>(...items: T[]): AsyncGenerator<T> {
  yield* items;
}

check(
  'a document is its canonical text to the byte, however its texts lie to what it is written through',
  async (t) => {
    const folder = await temporaryFolder(t);
    const staged = new StagedFiles(nodeFileSystem, folder, new SafeText([]));
    for (const [at, unit] of UNITS.entries())
      for (const around of [-2, -1, 0, 1, 2]) {
        const bytes = BUFFER_BYTES + around;
        const texts = [bytes, bytes / 3, bytes / 2, 1, 0].map((size) => unit.repeat(Math.trunc(size / unit.length)));
        const name = `document-${at}${around}.json`;
        const records = texts.map((text) => ({ text }));
        await staged.addDocument(name, {
          empty: only(),
          head: texts[1] as string,
          none: only<RecordTexts | RecordPage>(new RecordTexts([]), new RecordPage([])),
          records: only<RecordTexts | StagedRecord | RecordPage>(
            new RecordTexts(records.map(canonicalJson)),
            new RecordPage(records),
            new StagedRecord({ texts: only(...texts) }),
          ),
          texts: only(...texts),
        });
        const whole = { empty: [], head: texts[1], none: [], records: [...records, ...records, { texts }], texts };
        const written = readFileSync(join(folder, name));
        assert.ok(written.equals(Buffer.from(canonicalJson(whole as never))), name);
        const { size, sha256 } = staged.rows.at(-1) as (typeof staged.rows)[number];
        assert.deepEqual(
          { size, sha256 },
          { size: written.length, sha256: createHash('sha256').update(written).digest('hex') },
        );
      }
  },
);
