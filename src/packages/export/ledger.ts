import {
  canonicalJson,
  isJsonObject,
  JSON_PROFILES,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  readStrictJson,
  REDACTED,
  SecretNames,
} from '../../core/index.ts';
import {
  type ActionGroup,
  type ExecutionAttempt,
  portableAttempts,
  portableEvents,
  SECRET_FIELDS,
  secretFieldsOfProposal,
  type StoredEvent,
} from '../../sessions/index.ts';
import { isReplyState } from '../../runs/index.ts';
import type { ReadTx } from '../../store/index.ts';
import { type DocumentTools, groupsOfBranch, PAGE_ROWS, pages } from './documents.ts';
import { type DocumentMembers, RecordTexts, StagedRecord } from './staged.ts';

export async function ledgerDocument({
  tx,
  session,
  branches,
  generationIds,
  secretTools,
}: DocumentTools): Promise<DocumentMembers> {
  async function* groups(): AsyncGenerator<StagedRecord> {
    for (const { branchId } of branches)
      for await (const group of groupsOfBranch(tx, branchId))
        yield groupDocument(group, eventsOf(tx, group.groupId, secretTools));
  }
  const attempts = await portableAttempts(tx, session.rootFrameId);
  return { groups: groups(), execution_attempts: attempts.map((attempt) => attemptDocument(attempt, generationIds)) };
}

/** A group may be as large as a ledger: its events are read and written page by page. */
async function* eventsOf(
  tx: ReadTx,
  groupId: string,
  secretTools: DocumentTools['secretTools'],
): AsyncGenerator<RecordTexts> {
  const secrets = new SecretsOfCalls(secretTools);
  for await (const events of pages((after) => portableEvents(tx, groupId, after, PAGE_ROWS)))
    yield new RecordTexts(events.map((event) => eventText(secrets.struckOut(event))));
}

/** Strikes the secret fields of their tools out of the arguments of a group's calls, from their proposals on. */
class SecretsOfCalls {
  readonly #tools: DocumentTools['secretTools'];
  readonly #byCall = new Map<string | null, SecretNames>();

  constructor(tools: DocumentTools['secretTools']) {
    this.#tools = tools;
  }

  struckOut(event: StoredEvent): StoredEvent {
    if (event.type === 'proposed') this.#learn(event);
    const secret = this.#byCall.get(event.toolCallId);
    if (!secret) return event;
    const { canonicalArguments: text, rawArguments: raw } = event;
    return {
      ...event,
      canonicalArguments: text === null ? null : struckOutOf(text, secret),
      // What is no JSON has no fields that could be found.
      rawArguments: raw === null ? null : REDACTED,
    };
  }

  #learn({ toolCallId, result }: StoredEvent): void {
    // Few proposals name any, and few installations know such a tool: the others are not read.
    if (result === null || (this.#tools.size === 0 && !result.includes(SECRET_FIELDS))) return;
    const said = readStrictJson(result, JSON_PROFILES.packages);
    const tool = isJsonObject(said) ? said['tool'] : undefined;
    const known = typeof tool === 'string' ? this.#tools.get(tool) : undefined;
    const secret = new SecretNames(secretFieldsOfProposal(said), known ?? []);
    if (!secret.none) this.#byCall.set(toolCallId, secret);
  }
}

/** The text is JSON, and has to stay it: what cannot be read within bounds is struck out as a text. */
function struckOutOf(text: string, secret: SecretNames): string {
  const left = secret.strikeOutOf(text);
  return left === REDACTED ? canonicalJson(REDACTED) : left;
}

function groupDocument(group: ActionGroup, events: AsyncIterable<RecordTexts>): StagedRecord {
  return new StagedRecord({
    group_id: group.groupId,
    root_frame_id: group.rootFrameId,
    branch_id: group.branchId,
    turn_id: group.turnId,
    ordinal: group.ordinal,
    kind: group.kind,
    provider: group.provider,
    model: group.model,
    // What a model reasoned, and what its provider said of that, is for that model here: it does not travel.
    wire_state: isReplyState(group.wireState) ? null : group.wireState,
    assistant_content: group.assistantContent,
    assistant_message: isJsonObject(group.assistantMessage) ? group.assistantMessage : null,
    usage: isJsonObject(group.usage) ? group.usage : null,
    cost_usd: costDocument(group.costUsd),
    created_at: group.createdAt,
    events,
  });
}

/** A cost is a number with a fraction at the source: a whole one keeps that spelling. */
const costDocument = (cost: number | null): JsonValue =>
  cost !== null && Number.isInteger(cost) ? new JsonNumber(cost) : cost;

/** An event's canonical text. What is stored as JSON stands in it as it is stored. */
function eventText(event: StoredEvent): string {
  // The members stand in their canonical order.
  const parts = [
    '{"action_id":',
    canonicalJson(event.actionId),
    ',"canonical_arguments":',
    event.canonicalArguments ?? 'null',
    ',"created_at":',
    canonicalJson(event.createdAt),
    ',"event_id":',
    canonicalJson(event.eventId),
    ',"raw_arguments":',
    canonicalJson(event.rawArguments),
    ',"resource_keys":',
    event.resourceKeys.length === 0 ? '[]' : canonicalJson([...event.resourceKeys]),
    ',"result":',
    event.result ?? 'null',
    ',"sequence":',
    canonicalJson(event.sequence),
    ',"side_effect_class":',
    canonicalJson(event.sideEffectClass),
    ',"tool_call_id":',
    canonicalJson(event.toolCallId),
    ',"type":',
    canonicalJson(event.type),
    ',"wire_id":',
    canonicalJson(event.wireId),
    '}',
  ];
  return parts.join('');
}

function attemptDocument(attempt: ExecutionAttempt, generationIds: ReadonlySet<string>): JsonObject {
  const { generationId, ownerInstanceId } = attempt;
  return {
    attempt_id: attempt.attemptId,
    group_id: attempt.groupId,
    producing_cell_id: attempt.producingCellId,
    attempt_ordinal: attempt.attemptOrdinal,
    state_revision: attempt.stateRevision,
    generation_id: generationId !== null && generationIds.has(generationId) ? generationId : null,
    ...(ownerInstanceId === null ? {} : { owner_instance_id: ownerInstanceId }),
    allocated_at: attempt.allocatedAt,
    started_at: attempt.startedAt,
    response_at: attempt.responseAt,
    capture_at: attempt.captureAt,
    finished_at: attempt.finishedAt,
    terminal_state: attempt.terminalState,
    error: errorDocument(attempt.error),
    replayed_from_cell_id: attempt.replayedFromCellId,
  };
}

/** An error that is the text of a JSON object travels as that object: so it came. */
function errorDocument(error: string | null): JsonValue {
  if (error === null || !error.startsWith('{')) return error;
  try {
    return readStrictJson(error, JSON_PROFILES.packages);
  } catch {
    return error;
  }
}
