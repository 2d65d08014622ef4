import type { ImportedHistory, ImportPlace } from '../../autonomy/index.ts';
import type { JsonObject } from '../../core/index.ts';
import type { Principal } from '../../sessions/index.ts';
import type { ReadTx, Tx } from '../../store/index.ts';

/** What a package says of autonomous runs, made harmless, and the new names of what it refers to. */
export type AutoModeImport = ImportedHistory;

/** Where an import puts it. Nothing of it is ever carried on. */
export type AutoModePlace = ImportPlace;

/** What the room of autonomous runs does for packages. Its rows go with their session, by that room's own hook. */
export interface AutoModePort {
  /** Everything that is known of a session's runs, in the records of the format; undefined where there were none. */
  export(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<JsonObject | undefined>;
  import(tx: Tx, place: AutoModePlace, history: AutoModeImport): Promise<void>;
}
