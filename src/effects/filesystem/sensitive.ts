import { fail, type FileSystem, type HoldfastError } from '../../core/index.ts';
import { factsAt, isWithin, parentOf, partsOf, realPath } from './real-path.ts';

const ANY_PART = new Set(
  (
    '.ssh .gnupg .gitconfig .bashrc .bash_profile .bash_logout .zshrc .zprofile .zshenv .profile .tcshrc .cshrc ' +
    '.env .netrc'
  ).split(' '),
);
const LAST_PART = new Set(
  'authorized_keys id_rsa id_ed25519 id_ecdsa known_hosts auth.json app.db settings.json'.split(' '),
);

/** Places that the runtime itself uses: closed to agents whatever root they were given. */
export interface ControlPlaces {
  /** The data folder; all in it is closed but the parts named in `openParts`. */
  readonly dataDir?: string;
  /** Names directly below the data folder that agents may work in. The effect store is never one of them. */
  readonly openParts?: readonly string[];
  /** Other folders or files that the server uses. */
  readonly closed?: readonly string[];
}

/** The folder of the effect store: `effects` below the data folder. */
export function effectsDir(dataDir: string): string {
  return `${dataDir.replace(/\/+$/, '')}/effects`;
}

/** Names of credentials and start files (PATH-4, PATH-5), without regard to case or to compatibility forms of letters. */
export function hasSensitiveName(path: string): boolean {
  const parts = partsOf(path).map((part) => part.normalize('NFKC').toLowerCase());
  return parts.some((part) => ANY_PART.has(part)) || LAST_PART.has(parts.at(-1) ?? '');
}

export function sensitive(what: string): HoldfastError {
  return fail('RESOURCE_SENSITIVE', `The path is sensitive: ${what}.`);
}

/** Refuses a real path that names what agents may not touch (PATH-4 to PATH-7). */
export function refuseSensitive(files: FileSystem, path: string, places: ControlPlaces): void {
  if (hasSensitiveName(path)) throw sensitive('it names credentials or a start file');
  if (isControlPlace(files, path, places)) throw sensitive('the runtime itself uses it');
  const facts = factsAt(files, path);
  if (facts?.kind === 'file' && facts.links > 1) throw sensitive('the file has more than one name');
  if (facts && identitiesOfStore(files, places).has(facts.identity))
    throw sensitive('it is a part of the effect store');
}

function isControlPlace(files: FileSystem, path: string, places: ControlPlaces): boolean {
  const above = identitiesAbove(files, path);
  const liesIn = (place: string): boolean =>
    isWithin(path, place) || above.has(factsAt(files, place)?.identity ?? 'nothing');
  const closed = (places.closed ?? []).some((place) => liesIn(realPath(files, place)));
  if (closed || places.dataDir === undefined) return closed;
  if (liesIn(realPath(files, effectsDir(places.dataDir)))) return true;
  const data = realPath(files, places.dataDir);
  return liesIn(data) && !(places.openParts ?? []).some((part) => liesIn(`${data}/${part}`));
}

/** What stands at a path and above it: a disk may know one folder by more names than one, as where it knows no capitals. */
function identitiesAbove(files: FileSystem, path: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at = path; at !== ''; at = parentOf(at)) {
    const facts = factsAt(files, at);
    if (facts) found.add(facts.identity);
  }
  return found;
}

/** Device and inode of the effect store and its files: what is mounted or linked elsewhere is still the store. */
function identitiesOfStore(files: FileSystem, places: ControlPlaces): ReadonlySet<string> {
  if (places.dataDir === undefined) return new Set();
  const store = realPath(files, effectsDir(places.dataDir));
  try {
    const folder = factsAt(files, store);
    if (folder?.kind !== 'folder') return new Set(folder ? [folder.identity] : []);
    const entries = files.readdir(store).map((name) => factsAt(files, `${store}/${name}`)?.identity ?? '');
    return new Set([folder.identity, ...entries]);
  } catch {
    throw sensitive('the effect store cannot be inspected');
  }
}
