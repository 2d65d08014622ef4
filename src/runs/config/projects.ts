import { fail } from '../../core/index.ts';
import type { TraceStore } from '../trace/port.ts';
import type { RunConfig } from './model.ts';
import { runConfig } from './run-config.ts';
import { applySnapshot } from './snapshot.ts';
import { snapshotForResume } from './resume.ts';

/** What a project supplies for its runs. */
export interface ProjectEnvironment<R> {
  readonly runner: R;
  /** What is not frozen comes from here, such as the system prompt. */
  readonly config: RunConfig;
}

/** The host's projects by name. A stored name is looked up here and nowhere else: it is never a path or a module. */
export type ProjectLoaders<R> = ReadonlyMap<string, () => Promise<ProjectEnvironment<R>>>;

/**
 * The runner and the configuration with which a stored run goes on: its project's runner where it names one, else the
 * base runner, and every frozen field as the run began with it. A run older than snapshots gets its snapshot before the
 * runner is chosen. Throws `RUN_PROJECT_UNKNOWN`, and as `snapshotForResume`.
 */
export async function restoreRunner<R>(
  traces: TraceStore,
  traceId: string,
  choice: { readonly base: R; readonly projects: ProjectLoaders<R> },
): Promise<ProjectEnvironment<R>> {
  const snapshot = await snapshotForResume(traces, traceId);
  const own = await environmentOf(snapshot.projectName, choice);
  return { runner: own.runner, config: { ...applySnapshot(own.config, snapshot), traceId } };
}

async function environmentOf<R>(
  project: string | null,
  choice: { readonly base: R; readonly projects: ProjectLoaders<R> },
): Promise<ProjectEnvironment<R>> {
  if (project === null) return { runner: choice.base, config: runConfig() };
  const load = choice.projects.get(project);
  if (load === undefined) throw fail('RUN_PROJECT_UNKNOWN', `No project named ${project.slice(0, 64)} is registered.`);
  return load();
}
