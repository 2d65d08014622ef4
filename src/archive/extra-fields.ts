import { fail, type HoldfastError } from '../core/index.ts';

const ZIP64_ID = 0x0001;

/**
 * Extra fields that carry times and owners only, with the most bytes each can need: NTFS, extended timestamp, and
 * Info-ZIP's three Unix forms.
 */
const HARMLESS: ReadonlyMap<number, number> = new Map([
  [0x000a, 32],
  [0x5455, 13],
  [0x5855, 12],
  [0x7855, 4],
  [0x7875, 24],
]);

const broken = (says: string): HoldfastError => fail('ARCHIVE_EXTRA_FIELD', `An extra field ${says}.`);

/**
 * Checks a record's extra fields and gives the ZIP64 one, if there is one. A field that could give the member another
 * name, other content or a hiding place is refused, and so is one that overruns or occurs twice.
 */
export function readExtraFields(extra: Buffer): Buffer | undefined {
  const seen = new Set<number>();
  let zip64: Buffer | undefined;
  let at = 0;
  while (at < extra.length) {
    if (at + 4 > extra.length) throw broken('is cut off');
    const id = extra.readUInt16LE(at);
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (end > extra.length) throw broken('is longer than its record');
    if (seen.has(id)) throw broken('occurs twice');
    seen.add(id);
    if (id === ZIP64_ID) zip64 = extra.subarray(at + 4, end);
    else if (end - at - 4 > (HARMLESS.get(id) ?? -1)) throw broken('is of a kind or size that is not accepted');
    at = end;
  }
  return zip64;
}
