import { fail } from '../core/index.ts';
import type { Colours } from './output.ts';
import { spelled } from './shell-word.ts';

/** How a list was asked for, by the names of its options; undefined and false say nothing. */
type Asked = Readonly<Record<string, string | boolean | undefined>>;

/** How many entries `--limit` asks for. INVALID_VALUE. */
export function entriesOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw fail('INVALID_VALUE', '--limit must be a whole number from 1.');
  return Number(text);
}

/** What a list says that shows nothing: of a later page only that, since the pages before it had something. */
export const noneLine = (mark: string | undefined, first: string): string =>
  mark === undefined ? first : 'There are no more.';

/** What the next page is asked for with: the same question, from where this page ends. */
export function moreLine(colours: Colours, command: string, asked: Asked, mark: string): string {
  const options = Object.entries(asked).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name} ${spelled(value)}`];
  });
  return `More: ${colours.command(['holdfast', command, ...options, mark].join(' '))}`;
}
