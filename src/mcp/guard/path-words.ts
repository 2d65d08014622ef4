import { trimText } from '../../core/index.ts';
import type { FilesystemRoot } from '../../effects/index.ts';

/** Stands for the root of a workspace in what our own tools are told; a server knows nothing of it. */
const ALIAS = '/workspace';
/** Someone's home, or a place that is no path: some servers go there, and others to a file of that name. */
const SEVERAL_WAYS = /^(?:~[^/]|[a-z][a-z0-9+.-]*:\/\/)/i;

/**
 * A path as the server of a guard takes it, to be judged by our own rules for paths. Null for one that servers take in
 * several ways: what it names cannot be told.
 */
export function pathOfServer(root: FilesystemRoot, text: string): string | null {
  const bare = trimText(text);
  // A blank one is refused as such.
  if (bare !== text && bare !== '') return null;
  if (SEVERAL_WAYS.test(text)) return null;
  const isAlias = text === ALIAS || text.startsWith(`${ALIAS}/`);
  return isAlias && root.path !== ALIAS ? `/.${text}` : text;
}
