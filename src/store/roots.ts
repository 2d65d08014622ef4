import { type Clock, fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import type { ContextSchema } from './migration.ts';
import type { ReadTx, Tx } from './port.ts';
import type { PrincipalRef } from './principal.ts';

/** Tenants and projects: every root row hangs from a project, every project from a tenant for ever. */
export const storeRootsSchema: ContextSchema = {
  context: 'roots',
  migrations: [
    {
      number: 1,
      name: 'tenants and projects',
      sqlite: `
        CREATE TABLE tenants (
          tenant_id TEXT PRIMARY KEY CHECK (length(tenant_id) > 0),
          name TEXT NOT NULL,
          created_at_ms INTEGER NOT NULL
        ) STRICT;
        INSERT INTO tenants (tenant_id, name, created_at_ms) VALUES ('local', 'Local', 0);
        CREATE TABLE projects (
          project_id TEXT PRIMARY KEY CHECK (length(project_id) > 0),
          tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
          name TEXT NOT NULL,
          created_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX projects_of_tenant ON projects (tenant_id, project_id);
        CREATE TRIGGER project_keeps_its_tenant BEFORE UPDATE OF project_id, tenant_id ON projects
        WHEN new.project_id IS NOT old.project_id OR new.tenant_id IS NOT old.tenant_id
        BEGIN SELECT RAISE(ABORT, 'a project never changes its tenant'); END;
      `,
    },
  ],
};

export interface Project {
  readonly projectId: string;
  readonly tenantId: string;
  readonly name: string;
  readonly createdAtMs: number;
}

const ADD_TENANT = 'INSERT OR IGNORE INTO tenants (tenant_id, name, created_at_ms) VALUES (?, ?, ?)';
const ADD_PROJECT = 'INSERT INTO projects (project_id, tenant_id, name, created_at_ms) VALUES (?, ?, ?, ?)';
const COLUMNS = 'project_id AS projectId, tenant_id AS tenantId, name, created_at_ms AS createdAtMs';
const RENAME_PROJECT = 'UPDATE projects SET name = ? WHERE project_id = ? AND tenant_id = ?';
const REMOVE_PROJECT = 'DELETE FROM projects WHERE project_id = ? AND tenant_id = ?';
const FIND_PROJECT = `SELECT ${COLUMNS} FROM projects WHERE project_id = ? AND tenant_id = ?`;
const PAGE_OF_PROJECTS = `SELECT ${COLUMNS} FROM projects WHERE tenant_id = ? AND project_id > ? ORDER BY project_id LIMIT ?`;

/** Adds a tenant where it is not there yet. The tenant `local` always is. */
export async function ensureTenant(tx: Tx, clock: Clock, tenant: { tenantId: string; name: string }): Promise<void> {
  const { tenantId, name } = tenant;
  await tx.run(ADD_TENANT, [requireText('tenant_id', tenantId), requireText('name', name), clock.nowMs()]);
}

/** Adds a project of the principal's tenant. @throws STORE_CONSTRAINT where the tenant is unknown or the id is taken */
export async function addProject(
  tx: Tx,
  clock: Clock,
  principal: PrincipalRef,
  project: { projectId: string; name: string },
): Promise<Project> {
  const projectId = requireText('project_id', project.projectId);
  const name = requireText('name', project.name);
  const createdAtMs = clock.nowMs();
  await tx.run(ADD_PROJECT, [projectId, principal.tenantId, name, createdAtMs]);
  return { projectId, tenantId: principal.tenantId, name, createdAtMs };
}

/** The project, if it is the principal's tenant's. */
export async function findProject(
  tx: ReadTx,
  principal: PrincipalRef,
  projectId: string,
): Promise<Project | undefined> {
  const row = await tx.get(FIND_PROJECT, [projectId, principal.tenantId]);
  return row && ({ ...row } as unknown as Project);
}

/** Gives a project another name. @throws PROJECT_NOT_FOUND */
export async function renameProject(tx: Tx, principal: PrincipalRef, projectId: string, name: string): Promise<void> {
  const params = [requireText('name', name), projectId, principal.tenantId];
  const { changes } = await tx.run(RENAME_PROJECT, params);
  if (changes !== 1) throw fail('PROJECT_NOT_FOUND', 'There is no such project.');
}

/** Removes a project that nothing hangs from. @throws PROJECT_NOT_FOUND, STORE_CONSTRAINT while something does */
export async function removeProject(tx: Tx, principal: PrincipalRef, projectId: string): Promise<void> {
  const { changes } = await tx.run(REMOVE_PROJECT, [projectId, principal.tenantId]);
  if (changes !== 1) throw fail('PROJECT_NOT_FOUND', 'There is no such project.');
}

/** @throws PROJECT_NOT_FOUND alike for a project that is not there and for another tenant's */
export async function requireProject(tx: ReadTx, principal: PrincipalRef, projectId: string): Promise<Project> {
  const project = await findProject(tx, principal, projectId);
  if (project === undefined) throw fail('PROJECT_NOT_FOUND', 'There is no such project.');
  return project;
}

/** A page of the tenant's projects in the order of their ids, from after the given one. */
export async function listProjects(
  tx: ReadTx,
  principal: PrincipalRef,
  page: { after?: string; limit?: number } = {},
): Promise<Project[]> {
  const limit = page.limit ?? LIMITS.projectPageEntries;
  requireWithin('projectPageEntries', limit);
  const rows = await tx.all(PAGE_OF_PROJECTS, [principal.tenantId, page.after ?? '', limit]);
  return rows.map((row) => ({ ...row }) as unknown as Project);
}
