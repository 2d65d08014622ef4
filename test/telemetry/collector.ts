import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  context,
  createNoopMeter,
  type ContextManager,
  type Histogram,
  metrics,
  type MetricOptions,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
  type Tracer,
} from '@opentelemetry/api';

export interface CollectedSpan {
  name: string;
  readonly kind: SpanKind | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly startTime: Date | undefined;
  readonly attributes: Attributes;
  isError: boolean;
  ended: boolean;
}

export interface Measured {
  readonly metric: string;
  readonly unit: string | undefined;
  readonly value: number;
  readonly attributes: Attributes;
}

export interface Collector {
  readonly spans: CollectedSpan[];
  readonly measured: Measured[];
  readonly named: (name: string) => CollectedSpan;
  readonly parentOf: (span: CollectedSpan) => CollectedSpan | undefined;
  /** Everything that was told, as one text. */
  readonly text: () => string;
}

/** Registers providers that keep everything in memory, as an SDK registers its own: spans, metrics, context, headers. */
export function collect(): Collector {
  const spans: CollectedSpan[] = [];
  const measured: Measured[] = [];
  trace.setGlobalTracerProvider({ getTracer: () => tracerOf(spans) });
  metrics.setGlobalMeterProvider({
    getMeter: () =>
      Object.assign(createNoopMeter(), {
        createHistogram: (metric: string, options: MetricOptions = {}): Histogram => ({
          record: (value, attributes = {}) =>
            void measured.push({ metric, unit: options.unit, value, attributes: { ...attributes } }),
        }),
      }),
  });
  context.setGlobalContextManager(asyncContexts());
  propagation.setGlobalPropagator(traceParents);
  const named = (name: string): CollectedSpan => {
    const found = spans.find((span) => span.name === name);
    if (!found) throw new Error(`no span ${name}; there are: ${spans.map((span) => span.name).join(', ')}`);
    return found;
  };
  return {
    spans,
    measured,
    named,
    parentOf: ({ parentId }) => spans.find(({ spanId }) => spanId === parentId),
    text: () => JSON.stringify([spans, measured]),
  };
}

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0');

function tracerOf(spans: CollectedSpan[]): Tracer {
  const startSpan = (name: string, options: SpanOptions = {}, parent: Context = context.active()): Span => {
    const above = trace.getSpanContext(parent);
    const collected: CollectedSpan = {
      name,
      kind: options.kind,
      traceId: above?.traceId ?? hex(spans.length + 1, 32),
      spanId: hex(spans.length + 1, 16),
      parentId: above?.spanId ?? null,
      startTime: options.startTime instanceof Date ? options.startTime : undefined,
      attributes: { ...options.attributes },
      isError: false,
      ended: false,
    };
    spans.push(collected);
    return spanOf(collected);
  };
  return {
    startSpan,
    startActiveSpan: () => {
      throw new Error('not used');
    },
  };
}

function spanOf(collected: CollectedSpan): Span {
  const { traceId, spanId } = collected;
  const span: Span = {
    spanContext: (): SpanContext => ({ traceId, spanId, traceFlags: 1 }),
    setAttribute: (name, value) => span.setAttributes({ [name]: value }),
    setAttributes: (more) => {
      Object.assign(collected.attributes, more);
      return span;
    },
    addEvent: () => span,
    addLink: () => span,
    addLinks: () => span,
    setStatus: ({ code }) => {
      collected.isError = code === SpanStatusCode.ERROR;
      return span;
    },
    updateName: (name) => {
      collected.name = name;
      return span;
    },
    end: () => {
      collected.ended = true;
    },
    isRecording: () => !collected.ended,
    recordException: () => undefined,
  };
  return span;
}

function asyncContexts(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, body, self, ...args) => storage.run(active, () => body.call(self as never, ...args)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

const traceParents: TextMapPropagator = {
  fields: () => ['traceparent'],
  inject: () => undefined,
  extract: (within, carrier: Record<string, string>) => {
    const [, traceId = '', spanId = ''] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(carrier['traceparent'] ?? '') ?? [];
    return traceId === '' ? within : trace.setSpanContext(within, { traceId, spanId, traceFlags: 1, isRemote: true });
  },
};
