/**
 * Text of a stranger, made safe to print: control characters, bidirectional and other invisible marks, and lone
 * surrogates appear as `\u{...}`; what is longer than `max` code points is cut, and says so.
 */
export function printable(text: string, max = 200): string {
  let shown = '';
  let count = 0;
  for (const character of text) {
    if (count === max) return `${shown}…`;
    shown += hasInvisible(character) ? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}` : character;
    count += 1;
  }
  return shown;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** True when a character of the text moves the cursor, changes the direction of text, or is not seen at all. */
export function hasInvisible(text: string): boolean {
  return INVISIBLE.test(text);
}
