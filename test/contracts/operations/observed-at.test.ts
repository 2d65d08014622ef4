import { isObservedAt } from '../../../src/operations/index.ts';
import { assert, check } from '../../support/index.ts';

const two = (value: number): string => String(value).padStart(2, '0');
const second = (year: number, month: number, day: number, time = '00:00:00'): string =>
  `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${time}Z`;

/** Whether the calendar of the language has the day: what it has not, it moves to another one. */
function exists(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

check('a day counts where the calendar has it, in leap years and others', () => {
  for (const year of [1, 4, 100, 400, 1900, 2000, 2023, 2024, 2026, 9999])
    for (let month = 0; month <= 13; month += 1)
      for (let day = 0; day <= 32; day += 1) {
        const wanted = month >= 1 && month <= 12 && day >= 1 && exists(year, month, day);
        assert.equal(isObservedAt(second(year, month, day)), wanted, second(year, month, day));
      }
  assert.equal(isObservedAt(second(0, 1, 1)), false);
});

check('a second of the day is one from 00:00:00 to 23:59:59, spelled in one way', () => {
  const at = (time: string) => isObservedAt(second(2026, 7, 19, time));
  assert.deepEqual(['00:00:00', '23:59:59', '09:05:07'].map(at), [true, true, true]);
  const never = ['24:00:00', '23:60:00', '23:59:60', '2:00:00', '12:00', '12:00:00.0', '12:00:00+00:00', ' 2:00:00'];
  for (const time of never) assert.equal(at(time), false, time);
  const spelled = ['2026-07-19T12:00:00', '2026-07-19 12:00:00Z', '٢٠٢٦-07-19T12:00:00Z', '2026-07-19T12:00:00Z\n'];
  for (const text of [...spelled, '', null, 7]) assert.equal(isObservedAt(text), false, String(text));
});
