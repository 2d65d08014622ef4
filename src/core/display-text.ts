// Characters that a person cannot see, or that change how what stands around them is seen: control characters, format
// characters (every bidirectional control among them), what a font may draw as nothing (zero-width characters, joiners,
// tags, variation selectors, fillers), line and paragraph separators, lone surrogates, private use.
const UNSEEN = /[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

/**
 * A text as it is shown to a person who decides on it: every character that is unseen or that reorders its neighbours
 * is written as its escape (`\u202e`; `\n` and `\t` short). The escapes are those of JSON, so canonical JSON stays the
 * same value when it is shown this way. Letters and marks of every script stay as they are; an
 * emoji joined of several shows its joiners.
 */
export function displayText(text: string): string {
  return text.replace(UNSEEN, escapeCharacter);
}

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  let escaped = '';
  for (let i = 0; i < character.length; i += 1)
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return escaped;
}

/** As `displayText`, for text of several lines: line feeds and tabs stay. */
export function displayLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.split('\t').map(displayText).join('\t'))
    .join('\n');
}
