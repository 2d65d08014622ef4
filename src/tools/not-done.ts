/**
 * Thrown by a tool that knows it changed nothing: the one throw that means `not_done`. Any other throw of a writing
 * tool leaves the outcome unknown. Recognised by its mark, so that a second copy of this package is understood too.
 */
export class NotDone extends Error {
  readonly holdfastNotDone = true;

  constructor(reason: string, options?: { readonly cause?: unknown }) {
    super(reason, options);
    this.name = 'NotDone';
  }

  /** True for an error of this class, from this copy of the package or another. */
  static is(error: unknown): error is NotDone {
    return error instanceof Error && 'holdfastNotDone' in error && error.holdfastNotDone === true;
  }
}
