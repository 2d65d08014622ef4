import { requireRequest } from '../../approvals/index.ts';
import { JSON_PROFILES, type JsonObject, LIMITS, readCanonicalJson, redact, redactText } from '../../core/index.ts';
import { runTree } from '../../runs/index.ts';
import { ProposedSecrets } from '../../sessions/index.ts';
import { type AssessmentEnding, completeAssessment, startAssessment } from '../assessments.ts';
import { codeOf } from '../errors.ts';
import { type AutoAssessment, OUTCOMES, RISKS } from '../model.ts';
import * as sql from '../queries.ts';
import { type Answer, askReviewer, textOf } from './ask.ts';
import type { AuthorRun, SuperviseContext } from './context.ts';
import type { Standing } from './standing.ts';
import type { Profile } from './terms.ts';

/**
 * Has every request of the run that waits assessed once, and what was begun before ended. The advice decides nothing:
 * the request waits for its person as before, and no rule is left behind.
 */
export async function advise(
  context: SuperviseContext,
  run: AuthorRun,
  standing: Standing,
  profile: Profile,
  how: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<void> {
  const assessed = new Set(standing.assessments.map((one) => one.decision_id));
  for (const open of standing.assessments.filter((one) => one.status === 'started'))
    if (open.policy_version === policyVersionOf(profile)) await assess(context, run, open, profile, how);
    else await dropAdvice(context, run, open.assessment_id, 'Another reviewer gives advice now.');
  for (const requestId of await waiting(context, run)) {
    if (assessed.has(requestId)) continue;
    const id = `${standing.run.execution_id}-advice-${requestId}`;
    const started = await begin(context, run, standing.run.run_id, { id, requestId, profile });
    if (started) await assess(context, run, started, profile, how);
  }
}

async function waiting({ store, approvals }: SuperviseContext, { principal, runId }: AuthorRun): Promise<string[]> {
  const tree = await store.read('autonomy.tree', (tx) => runTree(tx, principal, runId));
  const found: string[] = [];
  const [above] = tree;
  for (const { runId: id, place } of tree) {
    // What waits in another session, of an agent that was asked, is not in this run's scope.
    if (place.rootFrameId !== above?.place.rootFrameId) continue;
    for (const request of await approvals.pendingOfRun(principal, { rootFrameId: place.rootFrameId, runId: id }))
      if (request.status === 'pending') found.push(request.requestId);
  }
  return found;
}

interface Wanted {
  readonly id: string;
  readonly requestId: string;
  readonly profile: Profile;
}

/** Names in the record who gives advice, and by which prompt. */
function policyVersionOf({ document: { profile_id, profile_revision, prompt_sha256 } }: Profile): string {
  const name = profile_id.replaceAll(/[^A-Za-z0-9._:-]/g, '-').slice(0, 64);
  return `${name}:${profile_revision}:${prompt_sha256.slice(0, 16)}`.replace(/^[^A-Za-z0-9]+/, 'p');
}

/** Null where the request was decided meanwhile. */
async function begin(
  context: SuperviseContext,
  run: AuthorRun,
  autoRunId: string,
  { id, requestId, profile }: Wanted,
): Promise<AutoAssessment | null> {
  try {
    return await context.store.write('autonomy.assessment.start', async (tx) => {
      const { action } = await requireRequest(tx, run.principal, requestId);
      return startAssessment(tx, context.autonomy, run.principal, autoRunId, {
        assessmentId: id,
        auditId: `${id}-audit`,
        decisionId: requestId,
        actionDigest: action.actionDigest,
        policyVersion: policyVersionOf(profile),
        key: `${id}:start`,
      });
    });
  } catch (error) {
    if (codeOf(error) === 'AUTO_PERMISSION_SCOPE') return null;
    throw error;
  }
}

async function assess(
  context: SuperviseContext,
  run: AuthorRun,
  { assessment_id: id, decision_id }: AutoAssessment,
  profile: Profile,
  how: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<void> {
  const { action, stored } = await context.store.read('autonomy.request', async (tx) => {
    const request = await requireRequest(tx, run.principal, decision_id);
    return { ...request, stored: await ProposedSecrets.read(tx, [request.action.groupId]) };
  });
  const { groupId, tool, toolCallId } = action;
  const secretFields = [...stored.of(groupId, toolCallId), ...context.tools.secretFieldsOf(tool)];
  const subject = {
    version: 1,
    task: redactText(run.task),
    action: {
      tool: action.tool,
      side_effect_class: action.sideEffectClass,
      target: action.target,
      resource_keys: [...action.resourceKeys],
      arguments: redact(readCanonicalJson(action.canonicalArguments, JSON_PROFILES.packages), { secretFields }),
      reason: action.reason,
    },
  };
  const answer = await askReviewer(profile, subject, { clock: context.autonomy.sessions.clock, ...how });
  await endAdvice(context, run, id, adviceOf(answer));
}

/** What an end meets that somebody else has written meanwhile. */
const OVERTAKEN: ReadonlySet<string> = new Set(['AUTO_KEY_CONFLICT', 'AUTO_WRONG_PHASE']);

/**
 * Ends an assessment; where the request was decided meanwhile it ends as failed, and allows nothing. One that somebody
 * else has ended stays as it is.
 */
async function endAdvice(
  context: SuperviseContext,
  run: AuthorRun,
  id: string,
  ending: Omit<AssessmentEnding, 'key'>,
): Promise<void> {
  try {
    await context.store.write('autonomy.assessment.complete', (tx) =>
      completeAssessment(tx, context.autonomy, run.principal, id, { key: `${id}:end`, ...ending }),
    );
  } catch (error) {
    const code = codeOf(error);
    if (code !== null && OVERTAKEN.has(code) && (await hasEnded(context, run, id))) return;
    if (code !== 'AUTO_PERMISSION_DECIDED') throw error;
    const public_summary = 'The request was decided before the advice was there.';
    await endAdvice(context, run, id, {
      status: 'failed',
      outcome: 'failed',
      risk: 'unknown',
      assessment: { public_summary },
    });
  }
}

async function hasEnded({ store }: SuperviseContext, { principal }: AuthorRun, id: string): Promise<boolean> {
  const row = await store.read('autonomy.assessment', (tx) => tx.get(sql.FIND_ASSESSMENT, [id, principal.tenant]));
  return row !== undefined && sql.ASSESSMENTS.read(row).status !== 'started';
}

/** Ends an assessment that nobody will carry out any more. */
function dropAdvice(context: SuperviseContext, run: AuthorRun, id: string, why: string): Promise<void> {
  const ending = { status: 'unavailable', outcome: 'unavailable', risk: 'unknown' } as const;
  return endAdvice(context, run, id, { ...ending, assessment: { public_summary: why } });
}

/** Ends whatever advice was begun and has not ended: nobody gives it any more, and no run ends over it. */
export async function dropOpenAdvice(
  context: SuperviseContext,
  run: AuthorRun,
  { assessments }: Standing,
  why: string,
): Promise<void> {
  for (const { assessment_id: id, status } of assessments)
    if (status === 'started') await dropAdvice(context, run, id, why);
}

/** An answer as advice. What cannot be read allows nothing. Pure. */
export function adviceOf(answer: Answer): Omit<AssessmentEnding, 'key'> {
  if (!answer.ok) {
    const outcome = answer.ended === 'failed' ? 'failed' : 'unavailable';
    return { status: answer.ended, outcome, risk: 'unknown', assessment: { public_summary: answer.why } };
  }
  const { document, usage } = answer;
  const outcome = OUTCOMES.find((word) => word === document['outcome']);
  const risk = RISKS.find((word) => word === document['risk']) ?? 'unknown';
  const public_summary = textOf(document['summary'], LIMITS.autoSummaryCodePoints);
  const assessment: JsonObject = { public_summary, usage };
  if (outcome === undefined || outcome === 'unavailable' || outcome === 'failed')
    return { status: 'failed', outcome: 'failed', risk, assessment };
  return { status: 'completed', outcome, risk, assessment };
}
