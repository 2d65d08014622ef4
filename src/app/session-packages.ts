import { join } from 'node:path';
import { type FaultPoints, isSecretKey, nodeFileSystem } from '../core/index.ts';
import { autonomyPort, SessionPackages } from '../packages/index.ts';
import type { SessionContext } from '../sessions/index.ts';
import type { Store } from '../store/index.ts';
import type { ToolRegistry } from '../tools/index.ts';
import { DATA_FILES } from './data-folder.ts';
import { type Histories, importedWorkspace } from './session-history.ts';

/** Puts together what exports and imports the sessions of one data folder. `env` is searched for secrets to keep. */
export function openSessionPackages(of: {
  readonly store: Store;
  readonly dataDir: string;
  readonly context: SessionContext;
  readonly histories: Histories;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly tools: ToolRegistry;
  readonly faults: FaultPoints;
}): SessionPackages {
  const { store, dataDir, context, histories, faults, env, tools } = of;
  return new SessionPackages({
    store,
    sessions: context,
    clock: context.clock,
    ids: context.ids,
    workspaces: histories.workspaces,
    importsFolder: join(dataDir, DATA_FILES.imports),
    stagingFolder: join(dataDir, DATA_FILES.staging),
    workspaceOf: histories.directoryOf,
    importedWorkspaceOf: (root) => importedWorkspace(dataDir, root),
    configuredSecrets: () => secretsOf(env),
    secretTools: () => tools.withSecretFields(),
    autoMode: autonomyPort(context),
    files: nodeFileSystem,
    faults,
  });
}

/** Variables whose names say that their values are secrets. */
function secretsOf(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const named = Object.entries(env).flatMap(([name, value]) => (value && isSecretKey(name) ? [[name, value]] : []));
  return Object.fromEntries(named) as Record<string, string>;
}
