import { Holdfast } from '../app/index.ts';
import {
  fail,
  fieldsOption,
  type FieldShapes,
  functionsOption,
  LIMITS,
  shapeOf,
  stringOption,
  textOption,
  wholeOption,
} from '../core/index.ts';

const msOption = wholeOption(1, LIMITS.timerMs);
const rateOption = (least: number) =>
  shapeOf(
    `a number from ${least}`,
    (value) => typeof value === 'number' && Number.isFinite(value) && value >= least && value > 0,
  );

/** The options of `openGateway`. */
export const GATEWAY_OPTIONS: FieldShapes = {
  needed: { holdfast: shapeOf('what `Holdfast.open` gave', (value) => value instanceof Holdfast) },
  optional: {
    host: textOption(),
    port: wholeOption(0, 65_535),
    log: functionsOption('debug', 'info', 'warn', 'error'),
    rate: fieldsOption({ needed: { perSecond: rateOption(0), burst: rateOption(1) } }),
    heartbeatMs: msOption,
    headMs: msOption,
    requestMs: msOption,
    packageIdleMs: msOption,
    packageMs: msOption,
    version: stringOption,
  },
};

/** The head is a part of the request; Node.js takes no other order. */
export function checkTimes({ headMs, requestMs }: { readonly headMs: number; readonly requestMs: number }): void {
  if (headMs > requestMs)
    throw fail('INVALID_VALUE', 'The option `headMs` must be at most `requestMs`.', { details: { option: 'headMs' } });
}
