/** What may stand on a span or a measurement: names, ids, counts and codes. Never content, never a secret. */
export type TelemetryAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A piece of work under way, as its own code tells of it. */
export interface TelemetrySpan {
  set(attributes: TelemetryAttributes): void;
  rename(name: string): void;
  /** Says that it did not come to its end, by a code or another word of few kinds. */
  failed(type: string): void;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly attributes: TelemetryAttributes;
  /** When it began, where that was before now. Epoch milliseconds. */
  readonly startedAt?: number;
  /** Gives the headers of a request that may name the work elsewhere that this belongs to; asked where it is told. */
  readonly carrier?: () => Readonly<Record<string, string>>;
}

/** Everything that is measured, with its unit. Names of the OpenTelemetry conventions where there are some. */
export const TELEMETRY_METRICS = {
  'gen_ai.client.token.usage': { unit: '{token}', description: 'Tokens of one model turn.' },
  'gen_ai.client.operation.duration': { unit: 's', description: 'How long a model turn took.' },
  'http.server.request.duration': { unit: 's', description: 'How long a request to the gateway took.' },
  'holdfast.call.duration': { unit: 's', description: 'How long a tool call took, by tool and outcome.' },
  'holdfast.run.duration': { unit: 's', description: 'How long a process carried a run on, by agent and status.' },
  'holdfast.approval.wait': { unit: 's', description: 'How long a permission request waited, by tool and decision.' },
} as const;
export type TelemetryMetric = keyof typeof TELEMETRY_METRICS;

/** Who is told what Holdfast does and how long it takes. What it does itself never fails or delays the work. */
export interface Telemetry {
  /** Carries out `body` as a span, to which the spans begun within it belong; what `body` throws is thrown on. */
  within<T>(start: SpanStart, body: (span: TelemetrySpan) => Promise<T>): Promise<T>;
  record(metric: TelemetryMetric, value: number, attributes: TelemetryAttributes): void;
}

const noSpan: TelemetrySpan = Object.freeze({
  set: () => undefined,
  rename: () => undefined,
  failed: () => undefined,
});

/** Nobody is told. */
export const noTelemetry: Telemetry = Object.freeze({
  within: <T>(_start: SpanStart, body: (span: TelemetrySpan) => Promise<T>) => body(noSpan),
  record: () => undefined,
});

/** The seconds since it was made. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => (performance.now() - began) / 1000;
}
