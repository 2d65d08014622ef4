import { accessSync, constants, statSync } from 'node:fs';
import { dirname, join, parse } from 'node:path';
import { errnoOf, type ErrorCode, fail, wrapFileError } from '../core/index.ts';
import { spelled } from './shell-word.ts';

/** A file that a command is asked to make. */
export interface TargetFile {
  /** Its role, as messages name it: "the package’s file". */
  readonly what: string;
  /** As it was typed. */
  readonly path: string;
  /** What it could be called, where only its folder was given. */
  readonly name: string;
  /** The whole command with another path: what would work. */
  readonly command: (path: string) => string;
  /** How it is called that the file is there already. */
  readonly existsCode?: ErrorCode;
}

/** So many names beside one that is taken are tried before a person has to find one. */
const MOST_NAMES = 100;

/**
 * Looks at where a file is to be made before any work is done for it, so that a slip is told at once and by its own name.
 * Throws FILE_IS_FOLDER and FILE_EXISTS with the command that would work, FILE_MISSING where its folder is not there,
 * FILE_NOT_FOLDER, FILE_NO_ACCESS. That it can be written to the end nobody can promise.
 */
export function checkTarget({ what, path, name, command, existsCode = 'FILE_EXISTS' }: TargetFile): void {
  const there = kindOf(what, path);
  if (there === 'folder')
    throw fail('FILE_IS_FOLDER', `What was given for ${what} is a folder; name the file.`, {
      resolve: `\`${command(spelled(join(path, name)))}\``,
    });
  if (there === 'other') {
    const free = freeBeside(what, path);
    throw fail(
      existsCode,
      `It is there already, and is not overwritten: ${what}.`,
      free === null ? {} : { resolve: `Give it another name: \`${command(spelled(free))}\`` },
    );
  }
  const folder = dirname(path);
  const standing = kindOf(what, folder);
  if (standing === 'missing')
    throw fail('FILE_MISSING', `The folder that ${what} should be made in does not exist.`, {
      resolve: `Make it first: \`mkdir -p ${spelled(folder)}\``,
    });
  if (standing === 'other') throw fail('FILE_NOT_FOLDER', `What ${what} should be made in is a file and no folder.`);
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw wrapFileError(error, `the folder that ${what} should be made in`);
  }
}

function kindOf(what: string, path: string): 'folder' | 'other' | 'missing' {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'other';
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return 'missing';
    throw wrapFileError(error, what);
  }
}

/** A name like this one that nothing has: `b-2.zip` for `b.zip`. */
function freeBeside(what: string, path: string): string | null {
  const { dir, name, ext } = parse(path);
  for (let number = 2; number <= MOST_NAMES; number += 1) {
    const beside = join(dir, `${name}-${number}${ext}`);
    if (kindOf(what, beside) === 'missing') return beside;
  }
  return null;
}
