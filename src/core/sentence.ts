/** Two marks at the very end, of which the second is a full stop; not an ellipsis, and not `..` as a name or in a path. */
const ENDED_TWICE = /(?<=[^\s./\\])([.!?…])\.$/u;

/** A text that was put together: where a sentence was put at its end and a full stop after that, the full stop goes. */
export function endedOnce(text: string): string {
  return text.endsWith('.') ? text.replace(ENDED_TWICE, '$1') : text;
}

/** A reason as one sentence, so that another may follow: reasons in people's own words need not end, and some do. */
export function sentence(reason: string): string {
  const text = reason.trimEnd();
  return /[.!?…]$/u.test(text) ? endedOnce(text) : `${text}.`;
}
