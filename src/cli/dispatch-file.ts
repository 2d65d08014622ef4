import type { ApprovedCall } from '../calls/index.ts';
import { fail, isJsonObject, JSON_PROFILES, type JsonValue, readStrictJson } from '../core/index.ts';
import { readSmallBytes } from './small-files.ts';

const FIELDS = ['arguments', 'request_id', 'tool'];

/** The file of `operations dispatch`, strictly read: exactly its three members. Throws JSON codes and INVALID_VALUE. */
export function readDispatchFile(path: string): ApprovedCall {
  const file: JsonValue = readStrictJson(readSmallBytes('the request file', path), JSON_PROFILES.operations);
  if (!isJsonObject(file) || Object.keys(file).sort().join() !== FIELDS.join())
    throw fail('INVALID_VALUE', 'The request file must be an object of exactly request_id, tool and arguments.');
  const { request_id: requestId, tool, arguments: given } = file;
  if (typeof requestId !== 'string' || typeof tool !== 'string' || given === undefined || !isJsonObject(given))
    throw fail('INVALID_VALUE', 'request_id and tool must be texts, and arguments an object.');
  return { requestId, tool, arguments: given };
}
