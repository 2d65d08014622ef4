import { digestJson, fail, type JsonObject, LIMITS, codePointsWithin } from '../core/index.ts';
import type { ResourceKind, ResourceRef } from './model.ts';
import { checkRef } from './validity.ts';

/**
 * The exact identity of one thing, before it has a role. Only the functions of this module and of the file system's
 * make one: a text, a path or a look-alike object is refused by `resourceRef`.
 */
export interface Resource {
  readonly kind: ResourceKind;
  readonly location: readonly string[];
  readonly incarnation: string;
  readonly snapshotSha256: string;
}

const made = new WeakSet<object>();

/** Marks a resource as exactly identified. For this room's own functions. */
export function exactResource(
  kind: ResourceKind,
  parts: readonly string[],
  incarnation: string,
  document: JsonObject,
): Resource {
  const location = Object.freeze([kind, ...parts]);
  const resource = Object.freeze({ kind, location, incarnation, snapshotSha256: digestJson(document) });
  made.add(resource);
  return resource;
}

/** The reference to an exact resource in a role, such as `destination`. Throws `RESOURCE_INVALID`. */
export function resourceRef(resource: Resource, role: string): ResourceRef {
  if (typeof resource !== 'object' || resource === null || !made.has(resource))
    throw fail(
      'RESOURCE_INVALID',
      'A reference is made of an exactly identified resource, not of a text or an object.',
    );
  const ref = Object.freeze({ ...resource, role });
  try {
    checkRef(ref);
  } catch (cause) {
    throw fail('RESOURCE_INVALID', 'The resource or its role breaks a bound of references.', { cause });
  }
  return ref;
}

/** A record that a program owns, such as a note. `recordId` may be `*`: any record of the collection. */
export interface OwnedRecord {
  readonly namespace: string;
  readonly owner: string;
  readonly threadId: string;
  readonly collection: string;
  readonly recordId: string;
  readonly revision?: string;
  readonly recordThreadId?: string;
}

export function ownedResource(of: OwnedRecord): Resource {
  const { namespace, owner, threadId, collection, recordId, revision = '', recordThreadId = '' } = of;
  required({ namespace, collection, recordId });
  texts({ owner, threadId, revision, recordThreadId });
  return exactResource('owned', [namespace, owner, threadId, collection, recordId], revision, {
    namespace,
    owner,
    thread_id: threadId,
    collection,
    record_id: recordId,
    revision,
    record_thread_id: recordThreadId,
  });
}

/** Something behind another server: what an MCP tool touches when its arguments are mapped to nothing closer (E-2). */
export interface ExternalThing {
  readonly namespace: string;
  readonly owner: string;
  readonly endpointId: string;
  readonly serverId: string;
  readonly toolId: string;
  readonly incarnation?: string;
}

export function externalResource(of: ExternalThing): Resource {
  const { namespace, owner, endpointId, serverId, toolId, incarnation = '' } = of;
  required({ namespace, serverId });
  texts({ owner, endpointId, toolId, incarnation });
  return exactResource('external', [namespace, owner, endpointId, serverId, toolId], incarnation, {
    namespace,
    owner,
    endpoint_id: endpointId,
    server_id: serverId,
    tool_id: toolId,
    incarnation,
  });
}

/** One running process. `startToken` tells it from a later process with the same number. */
export interface ProcessIdentity {
  readonly namespace: string;
  readonly owner: string;
  readonly requestId: string;
  readonly threadId: string;
  readonly processId: number;
  readonly startToken: string;
  readonly role: string;
}

export function processResource(of: ProcessIdentity): Resource {
  const { namespace, owner, requestId, threadId, processId, startToken, role } = of;
  required({ namespace, startToken });
  texts({ owner, requestId, threadId, role });
  if (!Number.isSafeInteger(processId) || processId < 1)
    throw fail('RESOURCE_INVALID', 'processId is a whole number of at least 1.');
  const parts = [namespace, owner, requestId, threadId, String(processId), startToken, role];
  return exactResource('process', parts, startToken, {
    namespace,
    owner,
    request_id: requestId,
    thread_id: threadId,
    process_id: processId,
    start_token: startToken,
    role,
  });
}

/** The starting of a process, before there is one. */
export interface ProcessLaunch {
  readonly namespace: string;
  readonly owner: string;
  readonly requestId: string;
  readonly threadId: string;
  readonly generation: string;
}

export function processLaunchResource(of: ProcessLaunch): Resource {
  const { namespace, owner, requestId, threadId, generation } = of;
  required({ namespace, generation });
  texts({ owner, requestId, threadId });
  return exactResource('process_launch', [namespace, owner, requestId, threadId, generation], generation, {
    namespace,
    owner,
    request_id: requestId,
    thread_id: threadId,
    generation,
  });
}

export interface BackgroundJob extends ProcessLaunch {
  readonly jobId: string;
}

export function backgroundJobResource(of: BackgroundJob): Resource {
  const { namespace, owner, requestId, threadId, jobId, generation } = of;
  required({ namespace, jobId, generation });
  texts({ owner, requestId, threadId });
  return exactResource('background_job', [namespace, owner, requestId, threadId, jobId, generation], generation, {
    namespace,
    owner,
    request_id: requestId,
    thread_id: threadId,
    job_id: jobId,
    generation,
  });
}

/** A browser session as a whole; a page in it is no exact resource and cannot be claimed. */
export interface BrowserSession {
  readonly owner: string;
  readonly threadId: string;
  readonly sessionKey: string;
  readonly incarnation: string;
}

export function browserSessionResource(of: BrowserSession): Resource {
  const { owner, threadId, sessionKey, incarnation } = of;
  required({ sessionKey, incarnation });
  texts({ owner, threadId });
  return exactResource('browser_session', [owner, threadId, sessionKey], incarnation, {
    owner,
    thread_id: threadId,
    session_key: sessionKey,
    incarnation,
  });
}

/** Texts of a resource may be empty, but hold no NUL, line break or half a character, and stay within their bound. */
function texts(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const fine = typeof value === 'string' && !/[\0\r\n]/.test(value) && value.isWellFormed();
    if (!fine || !codePointsWithin(value, LIMITS.effectTextCodePoints))
      throw fail('RESOURCE_INVALID', `${name} is not a text within its bounds.`);
  }
}

function required(fields: Readonly<Record<string, unknown>>): void {
  texts(fields);
  for (const [name, value] of Object.entries(fields))
    if (value === '') throw fail('RESOURCE_INVALID', `${name} is empty.`);
}
