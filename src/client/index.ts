export { type Creating, HoldfastClient, type PackageDownload, type PageAsked } from './client.ts';
export type { EventsAsked, GatewayEvent } from './events.ts';
export { type ClientOptions, GatewayRefusal, type PackageBytes } from './request.ts';
