import { isJsonObject, type JsonObject, type JsonValue, plainJson, storableText } from '../core/index.ts';
import type { ModelReply, ProposedCall, ProviderMetadata, ReplyPart } from '../models/index.ts';
import { readArguments } from '../tools/index.ts';

const FORMAT = 'holdfast-reply';
const VERSION = 1;

type Said = Pick<ModelReply, 'text' | 'calls' | 'parts'>;

/**
 * What a reply was made of, for the model that made it: reasoning, the order of its parts and what its provider said of
 * them; null where text and then calls is all of it. Text stays where it is stored, the parts have its lengths. Reasoning
 * at the end led to nothing, and providers do not take it alone: it is left out.
 */
export function replyState(model: string, { calls, parts }: Said): JsonObject | null {
  const kept = parts.slice(0, parts.findLastIndex(({ type }) => type !== 'reasoning') + 1);
  const byId = new Map(calls.map((call) => [call.callId, call]));
  const documents = kept.map((part) =>
    part.type === 'call' ? callDocument(byId.get(part.callId)) : partDocument(part),
  );
  return documents.every(isPlain) ? null : { format: FORMAT, version: VERSION, model, parts: documents };
}

/** Whether the stored state of a group is one of ours: it says something to the model that made it, here, and nowhere else. */
export const isReplyState = (state: JsonValue): boolean => isJsonObject(state) && state['format'] === FORMAT;

function isPlain(part: JsonObject, at: number): boolean {
  if ('provider_metadata' in part) return false;
  return part['type'] === 'call' || (part['type'] === 'text' && at === 0);
}

function partDocument(part: Exclude<ReplyPart, { type: 'call' }>): JsonObject {
  const said = part.type === 'text' ? { length: part.text.length } : { text: part.text };
  return { type: part.type, ...said, ...metadataDocument(part) };
}

/** A call's arguments stand here only where they were spelled otherwise than they are stored. */
function callDocument(call: ProposedCall | undefined): JsonObject {
  const { callId = '', argumentsText = '' } = call ?? {};
  const read = readArguments(argumentsText);
  const isStored = (read.ok && read.text === argumentsText) || storableText(argumentsText) !== argumentsText;
  return {
    type: 'call',
    id: callId,
    ...(isStored ? {} : { arguments: argumentsText }),
    ...metadataDocument(call ?? {}),
  };
}

/** Metadata was read as JSON with the reply. */
const metadataDocument = ({ providerMetadata }: { readonly providerMetadata?: ProviderMetadata }): JsonObject =>
  providerMetadata === undefined ? {} : { provider_metadata: providerMetadata as JsonObject };

/** A reply as it is given back to the model that made it. */
export interface ReplyAsSaid {
  readonly calls: readonly ProposedCall[];
  readonly parts: readonly ReplyPart[];
}

/**
 * What a stored state says of a reply, for a model; null where it says nothing to this model, or does not fit the text
 * and the calls that are stored beside it.
 */
export function replyAsSaid(
  state: JsonValue,
  model: string | null,
  stored: { readonly text: string; readonly calls: readonly ProposedCall[] },
): ReplyAsSaid | null {
  if (!isJsonObject(state) || !isReplyState(state) || state['version'] !== VERSION || state['model'] !== model)
    return null;
  const { parts } = state;
  return Array.isArray(parts) && parts.every(isJsonObject)
    ? new StateReader(stored.text, stored.calls).read(parts)
    : null;
}

class StateReader {
  readonly #text: string;
  readonly #stored: readonly ProposedCall[];
  readonly #calls: ProposedCall[] = [];
  #at = 0;

  constructor(text: string, calls: readonly ProposedCall[]) {
    this.#text = text;
    this.#stored = calls;
  }

  read(documents: readonly JsonObject[]): ReplyAsSaid | null {
    const parts: ReplyPart[] = [];
    for (const document of documents) {
      const part = this.#part(document);
      if (part === null) return null;
      parts.push(part);
    }
    const isWhole = this.#at === this.#text.length && this.#calls.length === this.#stored.length;
    return isWhole ? { calls: this.#calls, parts } : null;
  }

  #part(document: JsonObject): ReplyPart | null {
    const { type, text, length } = document;
    if (type === 'call') return this.#call(document);
    if (type === 'reasoning' && typeof text === 'string') return { type, text, ...metadataOf(document) };
    if (type !== 'text' || typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0) return null;
    const from = this.#at;
    this.#at += length;
    return { type, text: this.#text.slice(from, this.#at), ...metadataOf(document) };
  }

  #call(document: JsonObject): ReplyPart | null {
    const stored = this.#stored[this.#calls.length];
    if (stored === undefined || document['id'] !== stored.callId) return null;
    const { arguments: said } = document;
    const argumentsText = typeof said === 'string' ? said : stored.argumentsText;
    this.#calls.push({ ...stored, argumentsText, ...metadataOf(document) });
    return { type: 'call', callId: stored.callId };
  }
}

function metadataOf({ provider_metadata: metadata }: JsonObject): { readonly providerMetadata?: ProviderMetadata } {
  return isJsonObject(metadata) ? { providerMetadata: plainJson(metadata) as ProviderMetadata } : {};
}
