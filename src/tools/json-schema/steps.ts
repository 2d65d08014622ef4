/** Thrown through the interpreter when a check costs more steps than it was given. */
export class StepsSpent extends Error {}

// Checks run synchronously, one at a time on a thread, so one counter is enough.
let left = 0;

/** Runs a synchronous check with a budget of steps; passing it throws `StepsSpent`. */
export function withSteps<T>(budget: number, check: () => T): T {
  left = budget;
  try {
    return check();
  } finally {
    left = 0;
  }
}

export function spendSteps(cost: number): void {
  left -= cost;
  if (left < 0) throw new StepsSpent('the check needs too many steps');
}
