export { makeReport } from './collect.ts';
export { reportDocument } from './document.ts';
export { reportHtml } from './html.ts';
export type { Report, ReportCounts, ReportedCall, ReportedRequest, ReportedRun, ReportPart } from './model.ts';
export { reportSections, reportSummary } from './sections.ts';
