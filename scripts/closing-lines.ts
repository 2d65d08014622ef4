// A node:test reporter for people: each failure with its reason, then one line of counts.
import type { TestEvent } from 'node:test/reporters';

export default async function* closingLines(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for await (const event of source) {
    if (event.type === 'test:pass' && event.data.details.type !== 'suite') {
      if (event.data.skip || event.data.todo) skipped += 1;
      else passed += 1;
    }
    if (event.type === 'test:fail' && event.data.details.type !== 'suite') {
      failed += 1;
      const error = event.data.details.error;
      const cause = error.cause instanceof Error ? error.cause : error;
      const place = `${event.data.file ?? ''}:${event.data.line ?? ''}`;
      yield `\n✖ ${event.data.name}\n  ${place}\n${cause.stack ?? cause.message}\n`;
    }
  }
  yield `\n${passed} passed, ${failed} failed, ${skipped} skipped\n`;
}
