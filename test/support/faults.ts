import type { FaultPoint, FaultPoints } from '../../src/core/index.ts';

export interface ArmedFault {
  readonly point: FaultPoint;
  /** Acts at this arrival, counted from 1 (the first unless told), and only at it. */
  readonly at?: number;
  /** Only at this step of a repeated point. */
  readonly step?: number;
  /** An error to throw, `kill` for SIGKILL of this process, or something to do. */
  readonly act: Error | 'kill' | (() => void | Promise<void>);
}

export interface ArmedFaults extends FaultPoints {
  /** How often a point was reached, acted on or not. */
  reached(point: FaultPoint): number;
  /** How many of the armed faults have acted: a test asserts that all did. */
  fired(): number;
}

/** Faults that act at named points. `Error`s are thrown as they are, so a test can recognise its own. */
export function armFaults(...armed: readonly ArmedFault[]): ArmedFaults {
  const counts = new Map<FaultPoint, number>();
  const arrivals = armed.map(() => 0);
  let fired = 0;
  const due = (point: FaultPoint, step?: number) =>
    armed.filter((fault, i) => {
      if (fault.point !== point || (fault.step !== undefined && fault.step !== step)) return false;
      arrivals[i] = (arrivals[i] ?? 0) + 1;
      return arrivals[i] === (fault.at ?? 1);
    });
  return {
    reached: (point) => counts.get(point) ?? 0,
    fired: () => fired,
    reach(point, step) {
      counts.set(point, (counts.get(point) ?? 0) + 1);
      for (const { act } of due(point, step)) {
        fired += 1;
        if (act instanceof Error) throw act;
        if (act === 'kill') process.kill(process.pid, 'SIGKILL');
        else return act();
      }
      return undefined;
    },
  };
}
