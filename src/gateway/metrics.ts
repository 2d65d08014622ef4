/** Upper bounds of the buckets of durations, in seconds. */
const BUCKETS = [0.005, 0.025, 0.1, 0.25, 1, 5] as const;

interface Durations {
  readonly buckets: number[];
  count: number;
  seconds: number;
}

/** What the gateway counts, in the text format that Prometheus reads. Labels name routes and statuses, never a tenant. */
export class Metrics {
  readonly #requests = new Map<string, number>();
  readonly #durations = new Map<string, Durations>();
  #streams = 0;

  request(route: string, status: number, milliseconds: number): void {
    const labels = `route="${route}",status="${status}"`;
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
    const seconds = milliseconds / 1000;
    const durations = this.#durations.get(route) ?? { buckets: BUCKETS.map(() => 0), count: 0, seconds: 0 };
    this.#durations.set(route, durations);
    for (const [index, bound] of BUCKETS.entries())
      if (seconds <= bound) durations.buckets[index] = (durations.buckets[index] ?? 0) + 1;
    durations.count += 1;
    durations.seconds += seconds;
  }

  streams(change: 1 | -1): void {
    this.#streams += change;
  }

  get text(): string {
    const lines = ['# TYPE holdfast_http_requests_total counter'];
    for (const [labels, count] of this.#requests) lines.push(`holdfast_http_requests_total{${labels}} ${count}`);
    lines.push('# TYPE holdfast_http_request_seconds histogram');
    for (const [route, { buckets, count, seconds }] of this.#durations) {
      const name = 'holdfast_http_request_seconds';
      for (const [index, bound] of BUCKETS.entries())
        lines.push(`${name}_bucket{route="${route}",le="${bound}"} ${buckets[index] ?? 0}`);
      lines.push(`${name}_bucket{route="${route}",le="+Inf"} ${count}`);
      lines.push(`${name}_sum{route="${route}"} ${seconds}`, `${name}_count{route="${route}"} ${count}`);
    }
    lines.push('# TYPE holdfast_event_streams gauge', `holdfast_event_streams ${this.#streams}`);
    return `${lines.join('\n')}\n`;
  }
}
