/** What one look found. `resolve` says what to do about it, and stands wherever `state` is not `ok`. */
export type HealthCheck =
  | { readonly name: string; readonly state: 'ok'; readonly found: string }
  | { readonly name: string; readonly state: 'warn' | 'fail'; readonly found: string; readonly resolve: string };

export function ok(name: string, found: string): HealthCheck {
  return { name, state: 'ok', found };
}

export function warn(name: string, found: string, resolve: string): HealthCheck {
  return { name, state: 'warn', found, resolve };
}

export function failed(name: string, found: string, resolve: string): HealthCheck {
  return { name, state: 'fail', found, resolve };
}
