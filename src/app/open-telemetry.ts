import type * as OpenTelemetry from '@opentelemetry/api';
import type { Attributes, Context, Histogram, Span } from '@opentelemetry/api';
import {
  fail,
  HoldfastError,
  type SpanStart,
  type Telemetry,
  TELEMETRY_METRICS,
  type TelemetryAttributes,
  type TelemetryMetric,
  type TelemetrySpan,
} from '../core/index.ts';

type Api = typeof OpenTelemetry;

const SCOPE = 'holdfast';
/** Upper bounds of the buckets: seconds, and tokens, as the conventions have them. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

/**
 * Spans and metrics for OpenTelemetry, through whatever providers are registered globally with `@opentelemetry/api`,
 * an optional peer that nothing else loads. Without a provider it costs next to nothing. TELEMETRY_MISSING where the
 * peer is not installed.
 */
export async function openTelemetry(): Promise<Telemetry> {
  return telemetryOf(await loadApi());
}

async function loadApi(): Promise<Api> {
  try {
    return await import('@opentelemetry/api');
  } catch (cause) {
    throw fail('TELEMETRY_MISSING', 'The package @opentelemetry/api is not installed.', { cause });
  }
}

function telemetryOf(api: Api): Telemetry {
  const histograms = new Map<TelemetryMetric, Histogram>();
  const histogramOf = (metric: TelemetryMetric): Histogram => {
    const { unit, description } = TELEMETRY_METRICS[metric];
    const advice = { explicitBucketBoundaries: unit === 's' ? SECONDS : TOKENS };
    const made = (): Histogram => api.metrics.getMeter(SCOPE).createHistogram(metric, { unit, description, advice });
    const histogram = histograms.get(metric) ?? made();
    histograms.set(metric, histogram);
    return histogram;
  };
  return Object.freeze({
    within: <T>(start: SpanStart, body: (span: TelemetrySpan) => Promise<T>) => within(api, start, body),
    record: (metric: TelemetryMetric, value: number, attributes: TelemetryAttributes) =>
      quietly(() => histogramOf(metric).record(value, attributesOf(attributes))),
  });
}

async function within<T>(api: Api, start: SpanStart, body: (span: TelemetrySpan) => Promise<T>): Promise<T> {
  const begun = quietly(() => begin(api, start));
  if (!begun) return body(viewOf(api, undefined));
  const view = viewOf(api, begun.span);
  try {
    return await api.context.with(begun.context, () => body(view));
  } catch (error) {
    view.failed(error instanceof HoldfastError ? error.code : 'UNEXPECTED');
    throw error;
  } finally {
    quietly(() => begun.span.end());
  }
}

function begin(api: Api, start: SpanStart): { readonly span: Span; readonly context: Context } {
  const active = api.context.active();
  const parent = start.carrier ? api.propagation.extract(active, start.carrier()) : active;
  const kind = { internal: api.SpanKind.INTERNAL, server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT }[
    start.kind
  ];
  const options = {
    kind,
    attributes: attributesOf(start.attributes),
    ...(start.startedAt === undefined ? {} : { startTime: new Date(start.startedAt) }),
  };
  const span = api.trace.getTracer(SCOPE).startSpan(start.name, options, parent);
  return { span, context: api.trace.setSpan(parent, span) };
}

function viewOf(api: Api, span: Span | undefined): TelemetrySpan {
  return {
    set: (attributes) => void quietly(() => span?.setAttributes(attributesOf(attributes))),
    rename: (name) => void quietly(() => span?.updateName(name)),
    failed: (type) =>
      void quietly(() => span?.setAttribute('error.type', type).setStatus({ code: api.SpanStatusCode.ERROR })),
  };
}

function attributesOf(given: TelemetryAttributes): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) attributes[name] = typeof value === 'object' ? [...value] : value;
  return attributes;
}

/** Whatever is registered may throw; the work goes on without it. */
function quietly<T>(tell: () => T): T | undefined {
  try {
    return tell();
  } catch {
    return undefined;
  }
}
