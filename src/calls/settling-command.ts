import { GUARD_REVISION, type Tool } from '../tools/index.ts';

/** What has to be known of a tool to say what settles a call of it. */
export type SettledTool = Pick<Tool, 'status' | 'effect'> & {
  readonly revisions: Pick<Tool['revisions'], 'handler'> | null;
};

/**
 * The one command that settles an unknown call: its tool is asked where it can be, or its call sent again where its other
 * side honours the key, and where neither can be, a person says what they found out. Of a tool that is not known here the
 * asking says what it lacks.
 */
export function settlingCommand(statusRef: string | null, tool: SettledTool | null): string {
  const ref = statusRef ?? 'REF';
  if (tool === null || tool.status !== null) return `holdfast operations status ${ref}`;
  if (isSentAgain(tool)) return `holdfast operations process ${ref}`;
  return verdictCommand(ref);
}

/** How a person says what they found out. */
export function verdictCommand(ref: string): string {
  return `holdfast operations settle ${ref} --done|--not-done --reason TEXT`;
}

/** Whether a command sends its calls again under their keys: what a guard sent, the guard alone could. */
export function isSentAgain({ effect, revisions }: SettledTool): boolean {
  return effect === 'idempotent' && revisions?.handler !== GUARD_REVISION;
}
