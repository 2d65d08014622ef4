import type { ModelDelta, ProviderMetadata, ReplyPart } from './model.ts';

interface OpenPart {
  readonly type: ModelDelta['type'];
  readonly texts: string[];
  metadata: ProviderMetadata | undefined;
  /** What has no number does not go on with it. */
  closed: boolean;
}

/** The parts of one reply as its events bring them, each in the place where it began. */
export class PartsReader {
  readonly #parts: (OpenPart | { readonly type: 'call'; readonly callId: string })[] = [];
  readonly #numbered = new Map<number, OpenPart>();

  get count(): number {
    return this.#parts.length;
  }

  /** False for a number under which something of the other kind came before. */
  take({ type, text, part, providerMetadata }: ModelDelta): boolean {
    const open = part === undefined ? this.#next(type) : this.#of(part, type);
    if (open.type !== type) return false;
    open.texts.push(text);
    if (providerMetadata === undefined) return true;
    open.metadata = providerMetadata;
    open.closed = true;
    return true;
  }

  call(callId: string): void {
    this.#parts.push({ type: 'call', callId });
  }

  #next(type: ModelDelta['type']): OpenPart {
    const last = this.#parts.at(-1);
    return last?.type === type && !last.closed ? last : this.#begin(type, false);
  }

  #of(part: number, type: ModelDelta['type']): OpenPart {
    const known = this.#numbered.get(part) ?? this.#begin(type, true);
    this.#numbered.set(part, known);
    return known;
  }

  #begin(type: ModelDelta['type'], closed: boolean): OpenPart {
    const part: OpenPart = { type, texts: [], metadata: undefined, closed };
    this.#parts.push(part);
    return part;
  }

  /** Without those that say nothing. */
  get parts(): ReplyPart[] {
    return this.#parts.flatMap((part): ReplyPart[] => {
      if (part.type === 'call') return [part];
      const { type, texts, metadata } = part;
      const text = texts.join('');
      if (metadata !== undefined) return [{ type, text, providerMetadata: metadata }];
      return text === '' ? [] : [{ type, text }];
    });
  }
}
