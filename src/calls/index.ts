export { type ReadyCall, executeCall, type Executed } from './execute.ts';
export { toldOtherwise } from './audit-told.ts';
export { callScopeText, type ScopeText } from './call-scope.ts';
export { notStarted, refusalOf } from './denials.ts';
export { type CallAlone, executeAlone } from './execute-alone.ts';
export type { CallsContext } from './context.ts';
export { type ApprovedCall, dispatchApproved, type Dispatched } from './dispatch-approved.ts';
export { boundPolicyRevision, judge } from './gate.ts';
export { outcomeUnderKey } from './host-key.ts';
export { approvedRevision, HOLDFAST_PROFILE, idempotencyKey } from './identity.ts';
export type {
  CallAuthority,
  CallListener,
  CallPlace,
  CallStanding,
  Checked,
  PreparedCall,
  ProposalTerms,
  ProposedCall,
} from './model.ts';
export { operationTools } from './operation-tool.ts';
export { type CallOutcome, isFinal, OUTCOME_STATES, type OutcomeState, type SettledBy } from './outcome.ts';
export { outcomeDocument, outcomeForModel, outcomeLine } from './outcome-rendering.ts';
export { prepareCall } from './prepare.ts';
export { propose, type Proposed, type Reply } from './propose.ts';
export { isKnownLater, NOT_ASKABLE } from './known-later.ts';
export { knownSince } from './known-since.ts';
export { outcomeOfLedgerCall } from './ledger-call.ts';
export { rehearseCall } from './rehearsal.ts';
export { recordRecovered, recoverCall, type Recovered, type Recovery } from './recover.ts';
export { outcomeOfResult, RESULT_PATHS, resultEvent, type ResultOf } from './result-event.ts';
export { ledgerResultOfStored, outcomeOfStored, settleByPerson, settleByStatus } from './settle.ts';
export { callSessionHooks } from './session-hooks.ts';
export { shownArguments, struckOut } from './shown-arguments.ts';
export { type LedgerCall, ledgerCalls, ledgerResultOf, rejudge, sessionCalls, standNow } from './standing.ts';
export { settlingCommand } from './settling-command.ts';
