import type { z } from 'zod';
import type { JsonObject } from '../core/index.ts';
import type { Role, Token } from '../principals/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import type { GatewayContext } from './context.ts';
import { readAs } from './validation.ts';

/** One request that has passed everything that is not the route's own: its caller, and its parts as the schemas want them. */
export interface Asked<P, Q, B> {
  readonly gateway: GatewayContext;
  readonly principal: Principal;
  readonly token: Token;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly request: Request;
  /** Under which the log names it. */
  readonly requestId: string;
  /**
   * Keeps the reply of a request that creates, in the very commit that creates; every such route calls it once. What
   * is given apart as `kept` is what a repeated request is answered, where that is not the reply itself.
   */
  readonly keep: (tx: Tx, reply: JsonObject, kept?: JsonObject) => Promise<void>;
}

/** A request before its parts were looked at. */
export interface RawAsked extends Omit<Asked<unknown, unknown, unknown>, 'gateway'> {}

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  /** Names it in the description, in metrics and in the client. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With `{name}` for what varies. */
  readonly path: string;
  readonly summary: string;
  /** A token needs one of these. */
  readonly roles: readonly Role[];
  readonly params: P;
  /** The session in which the route acts: refused while that is quarantined, before all else. */
  readonly actsIn?: (
    gateway: GatewayContext,
    principal: Principal,
    params: z.output<P>,
  ) => string | null | Promise<string | null>;
  readonly query: Q;
  /** Null: the route takes no body, or `takes` says which. */
  readonly body: B | null;
  /** What the body is, where it is not JSON; `handle` reads it from the request. */
  readonly takes?: string;
  readonly reply: z.ZodType;
  readonly status: 200 | 201 | 202;
  /** What the reply is, where it is not JSON. */
  readonly media?: string;
  /** Needs an `Idempotency-Key` (with `takes`: may have one), and answers a repeated request as before. */
  readonly creates: boolean;
  readonly handle: (asked: Asked<z.output<P>, z.output<Q>, z.output<B>>) => Promise<JsonObject | Response>;
}

/** A route as the application, the description and the fuzz see it. */
export interface Route extends Omit<RouteSpec<z.ZodType, z.ZodType, z.ZodType>, 'handle' | 'actsIn'> {
  /** The session that must not be quarantined; null where the route acts in none. */
  readonly placeOf: (gateway: GatewayContext, principal: Principal, params: unknown) => Promise<string | null>;
  readonly run: (gateway: GatewayContext, raw: RawAsked) => Promise<JsonObject | Response>;
}

/** Makes a route: what `handle` is given has passed the schemas, which are also what the description shows. */
export function route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(spec: RouteSpec<P, Q, B>): Route {
  const { handle, actsIn, ...shown } = spec;
  return {
    ...shown,
    placeOf: async (gateway, principal, params) =>
      actsIn === undefined ? null : actsIn(gateway, principal, readAs(spec.params, params, 'path')),
    run: async (gateway, raw) => {
      const params = readAs(spec.params, raw.params, 'path');
      const query = readAs(spec.query, raw.query, 'query');
      const body = spec.body === null ? (undefined as z.output<B>) : readAs(spec.body, raw.body, 'body');
      return handle({ ...raw, gateway, params, query, body });
    },
  };
}
