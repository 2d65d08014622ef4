import { fail } from '../core/index.ts';
import { aiSdkModel } from './ai-sdk-model.ts';
import type { AiSdkLanguageModel } from './ai-sdk-types.ts';
import { functionModel, type ModelFunction } from './function-model.ts';
import type { Model } from './model.ts';

/** Whatever a user may give as a model. */
export type ModelLike = Model | AiSdkLanguageModel | ModelFunction;

/** The `Model` of what a user gave. Throws `MODEL_INVALID`; a bare model id is refused, as it names no provider. */
export function asModel(given: ModelLike): Model {
  if (typeof given === 'function') return functionModel(given);
  if (typeof given === 'object' && given !== null) {
    if ('turn' in given && typeof given.turn === 'function' && typeof given.id === 'string') return given;
    if ('doStream' in given && typeof given.doStream === 'function') {
      const version: string = given.specificationVersion;
      if (version === 'v3' || version === 'v4') return aiSdkModel(given);
      throw fail(
        'MODEL_INVALID',
        `A language model of specification ${String(version).slice(0, 20)} is not supported.`,
      );
    }
  }
  throw fail('MODEL_INVALID', 'The `model` is neither an AI SDK language model nor a function.');
}
