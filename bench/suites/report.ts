import { join } from 'node:path';
import { makeReport, reportDocument, reportHtml } from '../../src/app/index.ts';
import { Holdfast, type ModelFunction, tool } from '../../src/index.ts';
import { median } from '../measure.ts';
import type { BenchSuite } from '../suite.ts';

const RUNS = 200;
const CALLS_OF_A_RUN = 50;

const caller: ModelFunction = ({ messages }) =>
  messages.at(-1)?.role === 'user'
    ? {
        calls: Array.from({ length: CALLS_OF_A_RUN }, (_, i) => ({
          toolName: 'note',
          arguments: { text: `the note number ${i} of this run` },
        })),
      }
    : 'done';

/** A data folder with so many calls, in sessions of their own. */
async function filled(dataDir: string): Promise<Holdfast> {
  const holdfast = await Holdfast.open({ dataDir });
  const note = tool({
    name: 'note',
    description: 'Notes.',
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false,
    },
    effect: 'idempotent',
    needsApproval: false,
    parallel: true,
    execute: () => ({ noted: true }),
  });
  const agent = holdfast.agent({ model: caller, tools: [note] });
  for (let i = 0; i < RUNS; i += 20) await Promise.all(Array.from({ length: 20 }, () => agent.run('Write the notes.')));
  return holdfast;
}

export const reportSuite: BenchSuite = {
  name: 'report',
  async run(folder) {
    const holdfast = await filled(join(folder, 'data'));
    const { runtime } = holdfast;
    const took: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const started = performance.now();
      const report = await makeReport(runtime, runtime.principal, { since: 0, now: runtime.calls.clock.nowMs() });
      const [html, document] = [reportHtml(report), JSON.stringify(reportDocument(report))];
      took.push(performance.now() - started);
      if (report.counts.calls !== RUNS * CALLS_OF_A_RUN || html.length + document.length === 0)
        throw new Error(`${report.counts.calls} calls were told`);
    }
    await holdfast.close();
    const ms = median(took);
    const rows = [
      {
        what: `a report over ${RUNS * CALLS_OF_A_RUN} calls, all three forms`,
        value: `${(ms / 1000).toFixed(2)} s`,
        note: 'must be under 2',
      },
    ];
    return { rows, figures: { peers: { report: { calls_10000_ms: Math.round(ms) } } } };
  },
};
