import type { Tool } from '../tools/index.ts';

/**
 * The one command that settles an unknown call: its tool is asked where it can be, and where it cannot, a person says
 * what they found out. Of a tool that is not known here the asking says what it lacks.
 */
export function settlingCommand(statusRef: string | null, tool: Pick<Tool, 'status'> | null): string {
  const ref = statusRef ?? 'REF';
  if (tool?.status === null) return `holdfast operations settle ${ref} --done|--not-done --reason TEXT`;
  return `holdfast operations status ${ref}`;
}
