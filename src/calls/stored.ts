import { fail } from '../core/index.ts';
import {
  type KeyedCall,
  type PreparedRequest,
  prepareRequest,
  Principal as OperationPrincipal,
  proveStored,
  ToolCall,
  type WholeOperation,
} from '../operations/index.ts';
import type { Principal } from '../sessions/index.ts';
import { readCanonicalJson, isJsonObject, JSON_PROFILES } from '../core/index.ts';
import type { Tool } from '../tools/index.ts';
import type { CallsContext } from './context.ts';
import type { PreparedCall } from './model.ts';
import { operationTool } from './operation-tool.ts';
import { prepareStored } from './prepare.ts';

/** A stored operation of a call, made ready to be asked about, delivered again or settled. */
export interface StoredCall {
  readonly statusRef: string;
  readonly whole: WholeOperation;
  readonly call: PreparedCall;
  /** The request as it is computed now; it must equal the stored one. */
  readonly request: PreparedRequest;
  readonly groupId: string;
}

/**
 * Loads an operation with the tool of exactly the revisions it was made under, retired ones included. Throws
 * OPERATION_NOT_FOUND, OPERATION_RECORD_BROKEN, or TOOL_UNKNOWN where that tool is not registered in this process.
 */
export async function loadStored(context: CallsContext, principal: Principal, statusRef: string): Promise<StoredCall> {
  const whole = await context.operations.stored(new OperationPrincipal(principal.tenant, principal.subject), statusRef);
  // What is asked, delivered and written down comes from the record: it fits itself, or nothing is done.
  proveStored(whole, statusRef);
  const { operation } = whole;
  const tool = context.tools.revision(operation.scope.tool, operation.revisions);
  if (!tool)
    throw fail('TOOL_UNKNOWN', `The tool ${operation.scope.tool} of that revision is not registered in this process.`, {
      resolve:
        'Register the tool as it was when the call was made (`retiredTools`); or find out what became of it, then say so: ' +
        `holdfast operations settle ${statusRef} --done|--not-done --reason TEXT`,
    });
  const stored = { callId: operation.first.callId, argumentsText: operation.argumentsJson, pageUrl: null };
  const call = await prepareStored(tool, stored);
  return { statusRef, whole, call, request: requestOfStored(tool, whole), groupId: operation.first.responseId };
}

function requestOfStored(tool: Tool, { operation }: WholeOperation): PreparedRequest {
  const { scope, first, argumentsJson } = operation;
  const value = readCanonicalJson(argumentsJson, JSON_PROFILES.operations);
  if (!isJsonObject(value)) throw fail('OPERATION_RECORD_BROKEN', 'The stored arguments are not an object.');
  const call = new ToolCall({ ...first, name: scope.tool, arguments: value, idempotencyKey: scope.key });
  const principal = new OperationPrincipal(scope.tenant, scope.subject);
  return prepareRequest(principal, call as KeyedCall, operationTool(tool), 'dispatch');
}
