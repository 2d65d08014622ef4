// A node:test reporter for people: a dot a test, each failure with its reason, then one line of counts.
import type { TestEvent } from 'node:test/reporters';

const LINE = 100;

export default async function* closingLines(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const errors = new Map<string, string>();
  const unloaded: string[] = [];
  let shown = 0;
  for await (const event of source) {
    // What a file says besides its results: on standard error, or as the runner's remark about it.
    if ((event.type === 'test:stderr' || event.type === 'test:diagnostic') && event.data.file !== undefined)
      errors.set(event.data.file, `${errors.get(event.data.file) ?? ''}${event.data.message}\n`);
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    if (event.data.details.type === 'suite' || (event.type === 'test:pass' && isFileItself(event.data))) continue;
    const outcome = outcomeOf(event);
    counts[outcome] += 1;
    shown += 1;
    yield { passed: '.', failed: 'X', skipped: '-' }[outcome] + (shown % LINE === 0 ? '\n' : '');
    if (event.type === 'test:fail') yield failureText(event.data);
    if (event.type === 'test:fail' && isFileItself(event.data)) unloaded.push(event.data.name);
  }
  // What a file wrote may arrive after the news that it failed.
  for (const file of unloaded) yield `\n✖ ${file}\n${errors.get(file) ?? ''}\n`;
  yield `\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`;
}

type Outcome = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

function outcomeOf(event: Outcome): 'passed' | 'failed' | 'skipped' {
  if (event.type === 'test:fail') return 'failed';
  return event.data.skip !== undefined || event.data.todo !== undefined ? 'skipped' : 'passed';
}

function failureText(data: Extract<Outcome, { type: 'test:fail' }>['data']): string {
  const error = data.details.error;
  const cause = error.cause instanceof Error ? error.cause : error;
  const reason = isFileItself(data) ? cause.message : (cause.stack ?? cause.message);
  return `\n✖ ${data.name}\n  ${data.file ?? ''}:${data.line ?? ''}\n${reason}\n`;
}

/** The runner reports a file without tests, or one that failed to load, as a test named by its path. */
export function isFileItself(test: { readonly name: string; readonly file?: string }): boolean {
  return test.name === test.file;
}
