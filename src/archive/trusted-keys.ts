import { fail, LIMITS } from '../core/index.ts';
import { readPublicKey } from './keys.ts';
import { hasInvisible } from './printable.ts';

/** Public keys that their reader trusts, with the name of each key's owner. */
export type TrustedKeys = ReadonlyMap<string, string>;

/**
 * Reads a list of trusted keys: one a line, the key's text, a blank, its owner's name; `#` begins a comment line.
 * TRUSTED_KEYS_INVALID names the first line that is not so, and a key that is listed twice.
 */
export function readTrustedKeys(text: string): TrustedKeys {
  if (text.length > LIMITS.keyFileBytes) throw fail('TRUSTED_KEYS_INVALID', 'The list of trusted keys is too long.');
  const keys = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, key = '', name = ''] = /^(\S+)\s+(\S.*)$/.exec(line.trim()) ?? [];
    const wrong = !readPublicKey(key) || keys.has(key) || hasInvisible(name);
    if (wrong)
      throw fail('TRUSTED_KEYS_INVALID', `Line ${index + 1} of the trusted keys is not one new key and a name.`);
    keys.set(key, name);
  }
  return keys;
}
