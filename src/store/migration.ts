/**
 * One numbered step of a context's tables. Its SHA-256 (over number, name and text) is stored with the version and
 * checked at every opening. `needs` names steps of other contexts that must stand before this one.
 */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sqlite: string;
  readonly needs?: readonly { readonly context: string; readonly number: number }[];
  /**
   * It only makes tables anew, and carries over a row that their own CHECK would refuse, for the checks to name it: nobody
   * could look at the others otherwise. Default: no, and such a row undoes it.
   */
  readonly carriesAsFound?: boolean;
}

/** A context's tables, as an ordered list of migrations. */
export interface ContextSchema {
  readonly context: string;
  readonly migrations: readonly Migration[];
  /** The literal that `runtime_metadata.schema_version` must hold, where the context's contracts fix one. */
  readonly schemaVersion?: string;
}
