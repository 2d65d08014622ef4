/** A package of the lock file, by the folder it is installed in. */
export interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly hasInstallScript?: boolean;
}

export type LockFile = Readonly<Record<string, LockedPackage>>;

/** Where Node.js would find `name` from the package in `folder`. */
function locate(lock: LockFile, folder: string, name: string): string | undefined {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const place = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (lock[place] !== undefined) return place;
    if (at === '') return undefined;
    if (!at.includes('/node_modules/')) at = '';
  }
}

/** The folders of every package that an installation of the root brings with it, without the root itself. */
export function installedWith(lock: LockFile): string[] {
  const found = new Set<string>();
  const queue = [''];
  for (let folder = queue.shift(); folder !== undefined; folder = queue.shift()) {
    const entry = lock[folder];
    const wanted = { ...entry?.dependencies, ...entry?.optionalDependencies };
    for (const name of Object.keys(wanted)) {
      const place = locate(lock, folder, name);
      if (place === undefined || found.has(place)) continue;
      found.add(place);
      queue.push(place);
    }
  }
  return [...found].sort();
}
