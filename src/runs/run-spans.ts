import { HoldfastError, stopwatch, type TelemetryAttributes } from '../core/index.ts';
import type { ModelReply } from '../models/index.ts';
import type { Agent, Driving, RunsContext } from './context.ts';
import type { RunRecord } from './model.ts';

/** Carries a run on as a span named after its agent. What it was asked and what it said stand on none. */
export function spanOfRun(
  { calls: { telemetry } }: RunsContext,
  run: RunRecord,
  agent: Agent,
  body: () => Promise<RunRecord>,
): Promise<RunRecord> {
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': agent.name,
    'gen_ai.conversation.id': run.place.rootFrameId,
    'holdfast.run.id': run.runId,
    ...modelAttributes(agent),
  };
  return telemetry.within({ name: `invoke_agent ${agent.name}`, kind: 'internal', attributes }, async (span) => {
    const seconds = stopwatch();
    const stands = await body();
    const { state } = stands;
    span.set({
      'holdfast.run.status': state.status,
      'gen_ai.usage.input_tokens': stands.promptTokens - run.promptTokens,
      'gen_ai.usage.output_tokens': stands.completionTokens - run.completionTokens,
    });
    if (state.status === 'failed') span.failed(state.code);
    const labels = { 'gen_ai.agent.name': agent.name, 'holdfast.run.status': state.status };
    telemetry.record('holdfast.run.duration', seconds(), labels);
    return stands;
  });
}

/** Asks a model once as a span; the span of one that is asked again says why it failed. */
export function spanOfTurn(
  { calls: { telemetry } }: RunsContext,
  { agent, run }: Pick<Driving, 'agent' | 'run'>,
  body: () => Promise<ModelReply>,
): Promise<ModelReply> {
  const { settings = {} } = agent;
  const model = modelAttributes(agent);
  const attributes = {
    'gen_ai.operation.name': 'chat',
    ...model,
    'gen_ai.conversation.id': run.place.rootFrameId,
    'gen_ai.request.temperature': settings.temperature,
    'gen_ai.request.top_p': settings.topP,
    'gen_ai.request.max_tokens': settings.maxOutputTokens,
    'gen_ai.request.seed': settings.seed,
  };
  const labels = { 'gen_ai.operation.name': 'chat', ...model };
  const name = `chat ${model['gen_ai.request.model']}`;
  return telemetry.within({ name, kind: 'client', attributes }, async (span) => {
    const seconds = stopwatch();
    const took = (more: TelemetryAttributes): void =>
      telemetry.record('gen_ai.client.operation.duration', seconds(), { ...labels, ...more });
    try {
      const reply = await body();
      const { inputTokens, outputTokens } = reply.usage;
      span.set({
        'gen_ai.response.finish_reasons': [reply.finishReason],
        'gen_ai.usage.input_tokens': inputTokens ?? undefined,
        'gen_ai.usage.output_tokens': outputTokens ?? undefined,
      });
      for (const [type, tokens] of [['input', inputTokens] as const, ['output', outputTokens] as const])
        if (tokens !== null)
          telemetry.record('gen_ai.client.token.usage', tokens, { ...labels, 'gen_ai.token.type': type });
      took({});
      return reply;
    } catch (error) {
      took({ 'error.type': error instanceof HoldfastError ? error.code : 'UNEXPECTED' });
      throw error;
    }
  });
}

/** The conventions' names of providers, by the first word of the AI SDK's. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
};

/** A model's id is `provider:model`; one without a provider is its own. */
function modelAttributes({ model: { id } }: Pick<Agent, 'model'>) {
  const colon = id.indexOf(':');
  const provider = /^[^.:]*/.exec(id)?.[0] ?? id;
  return {
    'gen_ai.provider.name': PROVIDERS[provider] ?? provider,
    'gen_ai.request.model': id.slice(colon + 1),
  };
}
