import type { Limit } from './limit.ts';

const MIB = 1024 * 1024;

/** Bounds of supervised runs, from the autonomy contract. */
export const autonomyLimits = {
  autoTextCodePoints: { max: 512, unit: 'code points', why: 'The autonomy contract for identifiers and words.' },
  autoKeyCodePoints: { max: 1024, unit: 'code points', why: 'The autonomy contract for keys, reasons and list items.' },
  autoClaimCodePoints: { max: 20_000, unit: 'code points', why: 'The autonomy contract for claims and summaries.' },
  autoListItems: { max: 10_000, unit: 'items', why: 'The autonomy contract for one list.' },
  autoValueBytes: { max: 32 * MIB, unit: 'bytes', why: 'The autonomy contract for one stored value.' },
  autoFindings: { max: 1000, unit: 'items', why: 'Findings of one review: more are not read, and the first ones are.' },
  autoSummaryCodePoints: { max: 2000, unit: 'code points', why: 'A summary is what a person reads first.' },
  autoArtifactPathCodePoints: { max: 512, unit: 'code points', why: 'With its digest a path fits into one list item.' },
  autoEvidenceFileBytes: { max: MIB, unit: 'bytes', why: 'A longer file is named to a reviewer and not shown.' },
  autoEvidenceBytes: { max: 4 * MIB, unit: 'bytes', why: 'What a reviewer is shown of all files together.' },
  reportRuns: { max: 5000, unit: 'items', why: 'A report is held in memory and read by a person.' },
  reportCalls: { max: 100_000, unit: 'items', why: 'A report is held in memory.' },
  reportShown: { max: 200, unit: 'items', why: 'Nobody reads a longer list; the document has all of it.' },
  reportArguments: { max: 2000, unit: 'code points', why: 'The arguments of one call on one line.' },
  autoEventsPerRead: { max: 100_000, unit: 'items', why: 'The autonomy contract: a read holds its events in memory.' },
  autoAuditPage: { max: 501, unit: 'items', why: 'The autonomy contract: each audit of a page is proved.' },
} as const satisfies Record<string, Limit>;
