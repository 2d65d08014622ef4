import type { JsonObject } from '../core/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';

/** What a package says of autonomous runs, made harmless, and the new names of what it refers to. */
export interface AutoModeImport {
  readonly projection: JsonObject;
  readonly branchIdMap: ReadonlyMap<string, string>;
  readonly turnIdMap: ReadonlyMap<string, string>;
  readonly versionIdMap: ReadonlyMap<string, string>;
  readonly artifactIdMap: ReadonlyMap<string, string>;
  readonly cellIdMap: ReadonlyMap<string, string>;
  readonly actionGroupIdMap: ReadonlyMap<string, string>;
}

/** Where an import puts it. Nothing of it is ever carried on. */
export interface AutoModePlace {
  readonly rootFrameId: string;
  readonly projectId: string;
  readonly resumeExecution: false;
}

/** What the room of autonomous runs does for packages. */
export interface AutoModePort {
  /** The projection of a session's history that may travel; undefined for a session that has none. */
  export(tx: ReadTx, rootFrameId: string): Promise<JsonObject | undefined>;
  /**
   * Reads a projection that came in a package, before anything is written: checks it whole and gives what may be
   * imported, without authority. PACKAGE_AUTO_MODE.
   */
  reduce(projection: JsonObject): JsonObject;
  import(tx: Tx, place: AutoModePlace, history: AutoModeImport): Promise<void>;
  /** Removes what an import had written. */
  erase(tx: Tx, rootFrameId: string): Promise<void>;
}
