const PLAIN = /^[ !\u0023-\u005b\u005d-\ud7ff\ue000-\uffff]*$/;

/** Whether JSON spells the text as it stands: no quote, backslash or control character, and no surrogate. */
export function isPlainText(text: string): boolean {
  return PLAIN.test(text);
}
