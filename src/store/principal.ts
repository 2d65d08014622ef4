/** Whoever asks: a subject of a tenant. It is given by the host, never taken from model output. */
export interface PrincipalRef {
  readonly tenantId: string;
  readonly subjectId: string;
}

/** Who asks where nobody has set up tenants. */
export const LOCAL_PRINCIPAL: PrincipalRef = Object.freeze({ tenantId: 'local', subjectId: 'owner' });
