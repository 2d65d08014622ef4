import { CommanderError } from 'commander';
import { fail, HoldfastError } from '../core/index.ts';

/**
 * The coded form of whatever ended a command. A line that commander cannot make sense of is `USAGE`. What is not ours
 * may carry paths or secrets in its message, so only its kind is told.
 */
export function asKnown(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (error instanceof CommanderError) return usage(error);
  const kind = error instanceof Error ? error.name : typeof error;
  return fail('UNEXPECTED', `The command ended in an error that has no code (${kind}).`, { cause: error });
}

function usage(error: CommanderError): HoldfastError {
  const message =
    error.code === 'commander.help' ? 'No command was given.' : error.message.replace(/^error: /, '').trim();
  return fail('USAGE', message.endsWith('.') ? message : `${message}.`, { cause: error });
}
