import {
  checkOptions,
  type FieldShapes,
  type JsonObject,
  listOption,
  objectOption,
  stringOption,
  wordOption,
} from '../core/index.ts';

/** A decision as a person sends it. */
export interface Said {
  readonly requestId: string;
  readonly decision: 'approve' | 'reject';
  /** The digest that `show` gave with what it printed. */
  readonly digest: string;
  /** The whole argument object as it should be, where the approver changed it. */
  readonly editedArguments?: JsonObject;
  readonly message?: string;
}

/** An edit that is there and is no object is none that could be left out: what was shown would be allowed instead. */
const SAID: FieldShapes = {
  needed: { requestId: stringOption, decision: wordOption(['approve', 'reject']), digest: stringOption },
  optional: { editedArguments: objectOption, message: stringOption },
};

/** Throws INVALID_VALUE at the first of what plain JavaScript may have said wrongly, by its name. */
export function checkSaid(said: readonly Said[]): void {
  listOption((_name, one) => checkOptions('approvals.decide', one, SAID))('decisions', said);
}
