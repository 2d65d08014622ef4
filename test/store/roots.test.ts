import {
  addProject,
  ensureTenant,
  findProject,
  listProjects,
  LOCAL_PRINCIPAL,
  requireProject,
  STORE_SCHEMAS,
} from '../../src/store/index.ts';
import { manualClock } from '../support/clock.ts';
import { assert, check } from '../support/index.ts';
import { openNotes } from '../support/notes-store.ts';

const clock = manualClock(5_000);
const ann = { tenantId: 'acme', subjectId: 'ann' };

check('the local tenant is there; a project hangs from its tenant and is found by it alone', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  const project = await store.write('add', (tx) =>
    addProject(tx, clock, LOCAL_PRINCIPAL, { projectId: 'p1', name: 'First' }),
  );
  assert.deepEqual(project, { projectId: 'p1', tenantId: 'local', name: 'First', createdAtMs: 5_000 });
  await store.read('find', async (tx) => {
    assert.deepEqual(await findProject(tx, LOCAL_PRINCIPAL, 'p1'), project);
    assert.equal(await findProject(tx, ann, 'p1'), undefined);
    assert.deepEqual(await requireProject(tx, LOCAL_PRINCIPAL, 'p1'), project);
    const denied = await requireProject(tx, ann, 'p1').catch((error: Error) => error.message);
    const missing = await requireProject(tx, ann, 'nothing').catch((error: Error) => error.message);
    assert.equal(denied, missing);
    await assert.rejects(requireProject(tx, ann, 'p1'), { code: 'PROJECT_NOT_FOUND' });
  });
});

check('a project of an unknown tenant, or under a taken id, is refused', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  const add = (principal: typeof ann) =>
    store.write('add', (tx) => addProject(tx, clock, principal, { projectId: 'p1', name: 'x' }));
  await assert.rejects(add(ann), { code: 'STORE_CONSTRAINT', details: { constraint: 'foreign_key' } });
  await store.write('tenant', (tx) => ensureTenant(tx, clock, { tenantId: 'acme', name: 'Acme' }));
  await store.write('tenant', (tx) => ensureTenant(tx, clock, { tenantId: 'acme', name: 'Acme again' }));
  await add(ann);
  await assert.rejects(add(LOCAL_PRINCIPAL), { code: 'STORE_CONSTRAINT', details: { constraint: 'primary_key' } });
});

check('a project never changes its tenant', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  await store.write('add', async (tx) => {
    await ensureTenant(tx, clock, { tenantId: 'acme', name: 'Acme' });
    await addProject(tx, clock, ann, { projectId: 'p1', name: 'x' });
  });
  const moving = store.write('move', (tx) => tx.run("UPDATE projects SET tenant_id = 'local' WHERE project_id = 'p1'"));
  await assert.rejects(moving, { code: 'STORE_CONSTRAINT', details: { constraint: 'trigger' } });
});

check('projects are listed by pages of at most 500', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  await store.write('add', async (tx) => {
    for (const projectId of ['c', 'a', 'b']) await addProject(tx, clock, LOCAL_PRINCIPAL, { projectId, name: 'x' });
  });
  const page = (ask: { after?: string; limit?: number }) =>
    store.read('list', async (tx) => (await listProjects(tx, LOCAL_PRINCIPAL, ask)).map(({ projectId }) => projectId));
  assert.deepEqual(await page({ limit: 2 }), ['a', 'b']);
  assert.deepEqual(await page({ after: 'b' }), ['c']);
  assert.deepEqual(await page({ limit: 500 }), ['a', 'b', 'c']);
  await assert.rejects(page({ limit: 501 }), { code: 'LIMIT_REACHED' });
});
