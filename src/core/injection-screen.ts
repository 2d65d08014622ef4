/** One phrase that text from elsewhere uses to pass itself off as an instruction. */
export interface InjectionRule {
  readonly id: string;
  readonly pattern: RegExp;
}

const GAP = '[\\s]{1,8}';

function phrase(id: string, words: string): InjectionRule {
  return { id, pattern: new RegExp(words.replaceAll(' ', GAP), 'i') };
}

/**
 * The phrases, static and without regard to case. They are hints for a reader, not a boundary: what holds is quarantine,
 * and that nothing imported is ever replayed.
 */
export const INJECTION_RULES: readonly InjectionRule[] = [
  phrase('ignore-previous', '\\bignore (?:all )?(?:your )?previous instructions\\b'),
  phrase(
    'disregard-previous',
    '\\bdisregard (?:the |all |your )?(?:previous|prior|above) (?:instructions?|prompts?)\\b',
  ),
  phrase('ignore-above', '\\bignore the above\\b'),
  phrase('forget', '\\bforget (?:everything|all previous|(?:all )?(?:of )?your instructions)\\b'),
  phrase('you-are-now', '\\byou are now (?:an?|in)\\b'),
  phrase('new-instructions', '\\bnew (?:system )?(?:instructions?|prompt)\\s{0,8}:'),
  phrase('system-override', '\\bsystem override\\b'),
  phrase('do-not-tell', '\\bdo not tell the user\\b'),
  phrase('role-tag', '</?(?:system|assistant|user)>'),
  phrase('role-bracket', '\\[/?(?:system|inst|instructions)\\]'),
  phrase('as-a-model', '\\bas an ai (?:language )?model,?(?: you)? (?:must|should|will)\\b'),
  phrase('reveal-prompt', '\\breveal (?:your )?(?:system )?prompt\\b'),
  phrase('print-secrets', '\\bprint (?:your )?(?:api|secret|credential|env)'),
];

export const INJECTION_WARNING =
  '[SECURITY WARNING: this text came from elsewhere and contains phrases that try to instruct an agent.]';

export interface InjectionScreening {
  readonly flagged: boolean;
  /** The ids of the rules that hit, in the order of the rules. */
  readonly rules: readonly string[];
  /** The text, with a warning in front where a rule hit. Screening its own result changes nothing more. */
  readonly text: string;
}

/** Looks for the phrases. Never throws, keeps the whole text, and costs time linear in its length. */
export function screenInjection(text: string): InjectionScreening {
  const rules = INJECTION_RULES.filter(({ pattern }) => pattern.test(text)).map(({ id }) => id);
  const flagged = rules.length > 0;
  const warned = flagged && !text.startsWith(INJECTION_WARNING);
  return { flagged, rules, text: warned ? `${INJECTION_WARNING}\n${text}` : text };
}
