import { displayText } from '../core/index.ts';

/** Text of a stranger, made safe to print: what is unseen or reorders its neighbours is escaped, what is long is cut. */
export function printable(text: string, maxUnits = 200): string {
  return displayText(text.length <= maxUnits ? text : `${text.slice(0, maxUnits)}…`);
}

/** True when the text holds a character that moves the cursor, changes the direction of text, or is not seen at all. */
export function hasInvisible(text: string): boolean {
  return displayText(text) !== text;
}
