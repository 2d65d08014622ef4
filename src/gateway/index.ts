export { type Gateway, type GatewayOptions, openGateway } from './gateway.ts';
export type { RateRule } from './rates.ts';
export type * from './wire.ts';
