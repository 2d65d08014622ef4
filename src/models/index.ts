export { aiSdkModel } from './ai-sdk-model.ts';
export type {
  AiSdkCallOptions,
  AiSdkLanguageModel,
  AiSdkMessage,
  AiSdkStream,
  AiSdkStreamPart,
  AiSdkToolResult,
} from './ai-sdk-types.ts';
export { asModel, type ModelLike } from './as-model.ts';
export { type FunctionCall, functionModel, type FunctionReply, type ModelFunction } from './function-model.ts';
export {
  FINISH_REASONS,
  type FinishReason,
  type Model,
  type ModelDelta,
  type ModelEvent,
  type ModelMessage,
  type ModelReasoning,
  type ModelReply,
  type ModelRequest,
  type ModelSettings,
  type ModelUsage,
  type ProposedCall,
  type ProviderMetadata,
  type ReplyPart,
} from './model.ts';
export { readTurn, type ReadTurnOptions } from './read-turn.ts';
export { recordedModel, recordedModelFromFile } from './recorded-model.ts';
export { parseTranscript, type Transcript, type TranscriptTurn, type TurnExpectation } from './transcript.ts';
