/** Bounds on what a tool declares and on what strangers' schemas may cost. Each is checked before it is paid for. */
export const TOOL_LIMITS = {
  /** Model providers refuse longer function names. */
  nameChars: 64,
  /** A description is sent with every model request. */
  descriptionChars: 8_192,
  /** A registry is searched and shown whole. */
  toolsInRegistry: 10_000,
  /** Revisions are stored with every operation, in columns of this size. */
  revisionChars: 255,
  /** Editable fields, groups and secret fields are searched for each call. */
  listEntries: 64,
  /** URL patterns are matched one by one. */
  urlPatterns: 64,
  urlPatternChars: 2_048,
  /** A page address longer than what browsers agree on is denied unread. */
  pageUrlChars: 8_192,
  /** Shorter than any lease that a worker may hold. */
  timeoutMs: 10 * 60_000,
  /** Seven days: the longest that another side may take to settle a request. */
  settlesWithinMs: 7 * 24 * 60 * 60_000,
  /** What a result may weigh in the database at most. */
  outputBytes: 1_048_576,
  outputDepth: 32,
  /** A schema is sent with every model request and walked for every call. */
  schemaBytes: 131_072,
  schemaDepth: 32,
  schemaNodes: 5_000,
  /** Subschemas that look at one and the same value, references followed: `anyOf` of `anyOf` grows as a power. */
  schemaBranching: 1_000,
  /** Longer patterns are not read by people, and cost memory when compiled. */
  patternChars: 1_000,
  /** An `enum` is compared entry by entry. */
  enumEntries: 1_000,
  /** Values in one checked document. */
  instanceNodes: 100_000,
  instanceDepth: 64,
  /** Up to here a value is checked on the main thread, in at most `inlineSteps` steps: some tens of milliseconds. */
  inlineInstanceNodes: 2_000,
  inlineSteps: 20_000,
  /** In the worker the deadline counts; the steps only keep the stack and the memory small. */
  workerSteps: 2_000_000,
  workerDeadlineMs: 2_000,
  workerStartMs: 20_000,
  workerQueue: 256,
  workerMemoryMb: 128,
  /** Issues told to a model, and the length of each. */
  issues: 20,
  issueChars: 300,
} as const;
