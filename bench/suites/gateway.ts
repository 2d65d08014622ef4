import { load, percentile } from '../../test/gateway/load.ts';
import { endings } from '../../test/soak/endings.ts';
import type { BenchSuite } from '../suite.ts';

const CLIENTS = 64;
const DECISIONS = 1000;

/** Decisions over HTTP: 64 clients, in a process of their own, that decide and read at once. */
export const gatewaySuite: BenchSuite = {
  name: 'gateway',
  async run() {
    await using ending = endings();
    const { faults, times, cpuMs } = await load(ending, { clients: CLIENTS, decisions: DECISIONS, callsPerRun: 100 });
    if (faults.length > 0) throw new Error(faults.join('\n'));
    const ms = (share: number): string => `${percentile(times, share).toFixed(0)} ms`;
    return {
      rows: [
        { what: 'a decision of 64 at once, p50', value: ms(0.5) },
        { what: 'a decision of 64 at once, p99', value: ms(0.99), note: 'wanted: under 250 ms on two cores' },
        { what: 'processor time a decision', value: `${cpuMs.toFixed(2)} ms`, note: 'of the gateway, reads included' },
      ],
      figures: {},
    };
  },
};
