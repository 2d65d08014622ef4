import type { Report } from './model.ts';
import { reportSections, reportSummary, type ReportItem, type ReportSection } from './sections.ts';

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
li { margin: .6rem 0; overflow-wrap: anywhere; }
code { font: 13px/1.4 ui-monospace, monospace; background: #8882; padding: .1rem .3rem; border-radius: .2rem; }
.note { opacity: .75; display: block; }
.attention h2 { color: #b3261e; } .good h2 { color: #1b6e3a; }
@media (prefers-color-scheme: dark) { .attention h2 { color: #ff8a80; } .good h2 { color: #7fd6a0; } }
`;

/** Text inside HTML. What is unseen or reorders its neighbours was written as an escape before. */
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

/**
 * The report as one self-contained page: nothing is loaded from anywhere, no script runs, and no text of an agent can
 * become markup. `command` says how a command of ours is written.
 */
export function reportHtml(report: Report, command: (text: string) => string = (text) => text): string {
  const head = reportSummary(report).map((line) => `<p>${escapeHtml(line)}</p>`);
  const sections = reportSections(report).filter(({ items }) => items.length > 0);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast report</title>
<style>${STYLE}</style>
</head>
<body>
<h1>What happened</h1>
${head.join('\n')}
${sections.map((one) => sectionHtml(one, command)).join('\n')}
</body>
</html>
`;
}

const sectionHtml = (
  { title, kind, items, more }: ReportSection,
  command: (text: string) => string,
): string => `<section class="${kind}">
<h2>${escapeHtml(title)} (${items.length + more})</h2>
<ul>
${items.map((one) => itemHtml(one, command)).join('\n')}
</ul>
${more > 0 ? `<p class="note">and ${more} more: <code>${escapeHtml(command('holdfast report --json'))}</code></p>` : ''}
</section>`;

function itemHtml({ title, notes, command }: ReportItem, written: (text: string) => string): string {
  const lines = notes.map((note) => `<span class="note">${escapeHtml(note)}</span>`);
  const does = command === null ? '' : `<span><code>${escapeHtml(written(command))}</code></span>`;
  return `<li>${escapeHtml(title)}${lines.join('')}${does}</li>`;
}
