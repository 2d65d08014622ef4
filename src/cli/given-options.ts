import { spelled } from './shell-word.ts';

/** What a command was told that decides what it works on, as it was typed. */
export interface Given {
  readonly dataDir?: string | undefined;
  readonly config?: string | undefined;
}

/** Groups, whose options stand behind the second word. */
const GROUPS = 'runs sessions approvals rules operations effects tokens'.split(' ');
const ALONE = 'run report audit pause unpause serve export import doctor migrate backup restore'.split(' ');
/** Whether a command opens a data folder, and so is told by a configuration which, and whose. */
export const readsConfiguration = (name: string): boolean => GROUPS.includes(name) || ALONE.includes(name);

/** A configuration is nothing to them: they write one, or are told by a policy. */
const WITHOUT_CONFIG = ['init', 'mcp guard', 'mcp(?! init)', 'policy test'] as const;

const COMMANDS = new RegExp(
  String.raw`\bholdfast (?:(?:${GROUPS.join('|')})(?: [a-z|-]+)?|(?:${ALONE.join('|')})\b|(${WITHOUT_CONFIG.join('|')})\b)`,
  'g',
);

/**
 * Gives a text back with what this command was given added to each command of ours in it, so that it finds the same when
 * it is pasted. For texts of ours alone: in what somebody else wrote, a command stays as they wrote it.
 */
export function withGiven({ dataDir, config }: Given): (text: string) => string {
  const folder = dataDir === undefined ? '' : ` --data-dir ${spelled(dataDir)}`;
  const both = config === undefined ? folder : `${folder} --config ${spelled(config)}`;
  if (both === '') return (text) => text;
  return (text) =>
    text.replaceAll(COMMANDS, (command, withoutConfig: string | undefined) =>
      withoutConfig === undefined ? `${command}${both}` : `${command}${folder}`,
    );
}
