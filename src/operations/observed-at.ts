const SECOND = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const ZERO = 0x30;

/** The number that two digits make. */
function digits(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO;
}

/** Exact second form, ASCII digits, a real calendar date, no leap second, no hour 24. */
export function isObservedAt(value: unknown): value is string {
  if (typeof value !== 'string' || !SECOND.test(value)) return false;
  const year = digits(value, 0) * 100 + digits(value, 2);
  const month = digits(value, 5);
  const day = digits(value, 8);
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
  return day <= days && digits(value, 11) <= 23 && digits(value, 14) <= 59 && digits(value, 17) <= 59;
}
