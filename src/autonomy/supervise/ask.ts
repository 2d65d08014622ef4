import {
  type Clock,
  canonicalJson,
  HoldfastError,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  LIMITS,
  readStrictJson,
  trimText,
} from '../../core/index.ts';
import { type ModelReply, readTurn } from '../../models/index.ts';
import type { Profile } from './terms.ts';

/** What a reviewer answered: the object it wrote, or why there is none to read. */
export type Answer =
  | { readonly ok: true; readonly document: JsonObject; readonly usage: JsonObject }
  | { readonly ok: false; readonly ended: 'unavailable' | 'failed'; readonly why: string; readonly usage: JsonObject };

/**
 * Asks a reviewer about one document, once. It has no tools, and a turn changes nothing, so after a crash it may be
 * asked again. A model that fails or is stopped is `unavailable`; an answer that cannot be read is `failed`. Never
 * throws for what the model does.
 */
export async function askReviewer(
  { model, prompt, settings }: Profile,
  subject: JsonObject,
  how: { readonly clock: Clock; readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Answer> {
  const text = canonicalJson(subject);
  const asked = { prompt: prompt.length + text.length, reply: 0 };
  try {
    const reply = await readTurn(
      model,
      {
        messages: [
          { role: 'system', text: prompt },
          { role: 'user', text },
        ],
        tools: [],
        signal: how.signal,
        ...(settings ? { settings } : {}),
      },
      { timeoutMs: Math.max(1, Math.min(how.timeoutMs, LIMITS.modelTurnMs)) },
    );
    const usage = usageOf(reply, { ...asked, reply: reply.text.length });
    const document = readAnswer(reply.text);
    if (document) return { ok: true, document, usage };
    return { ok: false, ended: 'failed', why: 'Its answer is not one JSON object.', usage };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const broken = error.code === 'MODEL_REPLY_INVALID' || error.code === 'MODEL_REPLY_TOO_LARGE';
    const usage = usageOf(null, asked);
    return { ok: false, ended: broken ? 'failed' : 'unavailable', why: `${error.code}: ${error.message}`, usage };
  }
}

const CHARACTERS_PER_TOKEN = 4;

/** Tokens as the provider counted them, or one for every four characters. */
function usageOf(reply: ModelReply | null, units: { readonly prompt: number; readonly reply: number }): JsonObject {
  const counted = reply?.usage ?? { inputTokens: null, outputTokens: null };
  return {
    input_tokens: counted.inputTokens ?? Math.ceil(units.prompt / CHARACTERS_PER_TOKEN),
    output_tokens: counted.outputTokens ?? Math.ceil(units.reply / CHARACTERS_PER_TOKEN),
  };
}

/** The one object of an answer: alone, or in a block of code. Null for anything else. */
function readAnswer(text: string): JsonObject | null {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')];
  if (from < 0 || to < from) return null;
  try {
    const value = readStrictJson(text.slice(from, to + 1), JSON_PROFILES.operations);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof HoldfastError) return null;
    throw error;
  }
}

/** A text of an answer within a bound; empty where there is none. */
export function textOf(value: unknown, most: number): string {
  if (typeof value !== 'string') return '';
  return trimText(Array.from(value.replaceAll('\0', '').toWellFormed()).slice(0, most).join(''));
}
