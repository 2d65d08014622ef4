import { displayText } from '../core/index.ts';

/** A word, such as a path, as a shell takes it. */
export function spelled(word: string): string {
  const shown = displayText(word);
  return /^[\w./@%+=:,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
