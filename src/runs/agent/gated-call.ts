import {
  argumentsSha256,
  callArgumentHash,
  confirmationGate,
  type ConfirmationDenial,
  type Grant,
} from '../../approvals/index.ts';
import { type CallOutcome, executeAlone } from '../../calls/index.ts';
import { canonicalJson, ERROR_TABLE, type ErrorCode, type JsonValue } from '../../core/index.ts';
import {
  acceptArguments,
  admitCall,
  type AllowedTools,
  inputOf,
  issuesText,
  type Tool,
  type ToolDenial,
  type ToolPrincipal,
  type ToolProgress,
  type ToolRegistry,
} from '../../tools/index.ts';

/** One call at the door of the tools: what the model said, and what the host says about it. */
export interface GatedCall {
  readonly name: string;
  /** The arguments as JSON, or the raw text where it is none. */
  readonly arguments: JsonValue;
  readonly toolCallId: string;
  readonly allowed: AllowedTools;
  readonly grant: Grant | null;
  readonly traceId: string;
  readonly pageUrl?: string | undefined;
  /** Every call needs a person, whatever its tool says. */
  readonly askForEach?: boolean;
  readonly principal: ToolPrincipal;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly onProgress?: (update: ToolProgress) => void;
}

/** A denial as a value, whose text goes to the model; or what became of the call. */
export type GateAnswer = ToolDenial | ConfirmationDenial | { readonly denied: false; readonly outcome: CallOutcome };

/** Checked as far as no person is needed. */
type Admitted = { readonly denied: false; readonly tool: Tool; readonly text: string; readonly input: unknown };

/** Known, allowed, on an allowed page, with arguments that its schema lets through; in this order. */
export async function admit(
  registry: ToolRegistry,
  call: Pick<GatedCall, 'name' | 'arguments' | 'allowed' | 'pageUrl'>,
): Promise<Admitted | ToolDenial> {
  const admission = admitCall(registry, call);
  if (admission.denied) return admission;
  const { tool } = admission;
  const accepted = await acceptArguments(tool, argumentsTextOf(call.arguments));
  if (!accepted.ok) return invalid(issuesText(accepted.issues));
  const read = await inputOf(tool, accepted.text);
  return read.ok ? { denied: false, tool, text: accepted.text, input: read.input } : invalid(issuesText(read.issues));
}

const argumentsTextOf = (given: JsonValue): string => (typeof given === 'string' ? given : canonicalJson(given));

function invalid(issues: string): ToolDenial {
  return { denied: true, code: 'TOOL_ARGUMENTS_INVALID', text: `Invalid arguments: ${issues}` };
}

/** Whether a person has to decide: the tool's own word; without one, a write is held and a read is not. */
export async function needsPerson(
  { tool, input }: Pick<Admitted, 'tool' | 'input'>,
  principal: ToolPrincipal,
  askForEach: boolean,
): Promise<boolean> {
  if (askForEach) return true;
  return tool.needsApproval === null ? tool.effect !== 'read' : tool.needsApproval(input, principal);
}

/**
 * Runs one call if every gate lets it through: the tools' own, then a grant for exactly this call where a person has to
 * decide. The page address is asked before the grant, so that no approval opens it. Denials run nothing.
 */
export async function callThroughGates(registry: ToolRegistry, call: GatedCall): Promise<GateAnswer> {
  const admitted = await admit(registry, call);
  if (admitted.denied) return admitted;
  const { tool, text, input } = admitted;
  if (await needsPerson(admitted, call.principal, call.askForEach === true)) {
    const { traceId, toolCallId } = call;
    const asked = { traceId, toolCallId, toolName: tool.name, argumentsSha256: argumentsSha256(text) };
    const denial = confirmationGate(call.grant, asked);
    if (denial !== null) return denial;
  }
  const outcome = await executeAlone({
    call: { tool, input },
    callId: call.toolCallId,
    idempotencyKey: call.idempotencyKey,
    principal: call.principal,
    runId: call.traceId,
    signal: call.signal,
    timeoutMs: tool.timeoutMs,
    ...(call.pageUrl === undefined ? {} : { pageUrl: call.pageUrl }),
    ...(call.onProgress === undefined ? {} : { onProgress: call.onProgress }),
  });
  return { denied: false, outcome };
}

/** The outcome that a denial comes to. */
export function deniedOutcome({ code, text }: ToolDenial | ConfirmationDenial): CallOutcome {
  const known: ErrorCode = code === 'CONFIRMATION_REQUIRED' ? 'APPROVAL_NOT_GIVEN' : code;
  return { state: 'not_started', code, reason: text, resolve: ERROR_TABLE[known].resolve };
}

/** The proof that an approved call of a batch carries to the gate. */
export function batchGrant(
  batchId: string,
  traceId: string,
  call: { readonly toolCallId: string; readonly toolName: string; readonly effectiveArguments: JsonValue },
): Grant {
  const { toolCallId, toolName } = call;
  const digest = argumentsSha256(canonicalJson(call.effectiveArguments));
  return {
    batch_id: batchId,
    trace_id: traceId,
    tool_call_id: toolCallId,
    tool_name: toolName,
    argument_hash: callArgumentHash(toolCallId, toolName, digest),
    decision: 'approved',
  };
}
