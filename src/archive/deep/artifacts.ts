import type { JsonObject, JsonValue } from '../../core/index.ts';
import { isAbsent, objectsOf, textOf } from '../documents.ts';
import { foldName } from '../member-names.ts';
import { printable } from '../printable.ts';
import type { DeepContext } from './context.ts';
import { isPlainFileName, isSecretPath } from './file-names.ts';

/** Artifacts have safe names of their own and versions whose bytes are there and are what their records say. */
export function checkArtifacts(context: DeepContext): void {
  const names = new Set<string>();
  for (const artifact of context.records('artifacts.json', 'artifacts')) {
    const name = textOf(artifact, 'filename') ?? '';
    if (!isPlainFileName(name) || isSecretPath(name))
      context.add('PACKAGE_ARTIFACT', 'secret or unsafe artifact filename');
    else if (names.has(foldName(name)))
      context.add('PACKAGE_ARTIFACT', `two artifacts have one name on some file systems: ${printable(name)}`);
    names.add(foldName(name));
    checkVersions(context, artifact, name);
  }
}

function checkVersions(context: DeepContext, artifact: JsonObject, name: string): void {
  const versions = objectsOf(artifact['versions']);
  for (const version of versions) checkVersion(context, version, name);
  const available = versions.filter(({ available: flag }) => flag === true);
  if (available.length === 0) context.add('PACKAGE_ARTIFACT', 'an artifact has no available version');
  if (!available.some(({ version_id: id }) => id === artifact['latest_version_id']))
    context.add('PACKAGE_IDENTITY', 'the latest version of an artifact references an unknown identity');
}

function checkVersion(context: DeepContext, version: JsonObject, name: string): void {
  if (version['filename'] !== name) context.add('PACKAGE_ARTIFACT', 'unsafe artifact filename of a version');
  context.referIfPresent('an artifact version', 'cell', version['producing_cell_id']);
  context.referIfPresent('an artifact version', 'environment snapshot', version['env_snapshot_id']);
  if (version['available'] === true && !bytesFit(context, version))
    context.add('PACKAGE_ARTIFACT', 'artifact snapshot byte metadata does not fit its bytes');
}

/** The snapshot is in the package under its digest; recorded checksum and size, where given, are the bytes' own. */
function bytesFit(context: DeepContext, version: JsonObject): boolean {
  const digest = version['snapshot_sha256'];
  const row = typeof digest === 'string' ? context.pkg.files.get(`artifact-data/${digest}`) : undefined;
  if (!row || row.sha256 !== digest) return false;
  const fits = (recorded: JsonValue | undefined, actual: string | number) => isAbsent(recorded) || recorded === actual;
  return fits(version['checksum'], row.sha256) && fits(version['size_bytes'], row.size);
}
