import { digestJson, type JsonObject, sha256Hex } from '../../core/index.ts';
import { asModel, type Model, type ModelLike, type ModelSettings } from '../../models/index.ts';
import { countField, textField, wordField } from '../fields.ts';
import { requireIndependent } from '../independence.ts';
import { AUTO_MODES, type AutoMode } from '../model.ts';
import { type AutonomyBudgets, budgetsOf } from './budgets.ts';
import { PERMISSION_PROMPT, REVIEW_PROMPT } from './prompts.ts';

export const PRESETS = ['off', 'autonomous'] as const;
export type Preset = (typeof PRESETS)[number];
export const APPROVALS_REVIEWERS = ['user', 'auto_review'] as const;
export type ApprovalsReviewer = (typeof APPROVALS_REVIEWERS)[number];

/** A reviewer as its user configures it: any model, with a profile and a prompt of its own. */
export interface ReviewerOptions {
  readonly model: ModelLike | Model;
  /** Names the profile in every record. Default `reviewer`; never the author's. */
  readonly profileId?: string;
  /** Counts the profile's versions, from 1. Default 1. */
  readonly profileRevision?: number;
  /** What it is told to do. The default asks for the one JSON object that is read. */
  readonly prompt?: string;
  readonly settings?: ModelSettings;
}

/** How an agent's runs are supervised. */
export interface AutonomyTerms {
  /** `autonomous`: results are reviewed and repaired, and waiting approvals get advice. Default `autonomous`. */
  readonly preset?: Preset;
  /** What happens to results where the preset is `off`. Default `off`. */
  readonly resultReviewMode?: AutoMode;
  /** Whether waiting approvals get advice where the preset is `off`; a person decides either way. Default `user`. */
  readonly approvalsReviewer?: ApprovalsReviewer;
  readonly reviewer: ReviewerOptions;
  /** Who gives advice about approvals. Default: the reviewer's model and profile, with a prompt for it. */
  readonly permissionReviewer?: ReviewerOptions;
  readonly budgets?: Partial<AutonomyBudgets>;
}

/** A model with the profile under which it appears in the record. */
export interface Profile {
  readonly model: Model;
  readonly prompt: string;
  readonly settings: ModelSettings | undefined;
  /** As it is recorded: profile, revision, and the digests that say what it is. */
  readonly document: ProfileDocument;
}

export interface ProfileDocument extends JsonObject {
  profile_id: string;
  profile_revision: number;
  /** SHA-256 of the canonical JSON of the model's id and its settings. */
  model_fingerprint: string;
  prompt_sha256: string;
}

/** The terms, complete and checked. */
export interface SupervisionTerms {
  readonly mode: AutoMode;
  readonly selection: JsonObject;
  readonly budgets: AutonomyBudgets;
  readonly reviewer: Profile;
  /** Null where approvals get no advice. */
  readonly permissionReviewer: Profile | null;
}

/** Who wrote what is reviewed. */
export interface Author {
  readonly name: string;
  readonly model: Model;
  readonly instructions: string | null;
  readonly settings?: ModelSettings;
}

const fingerprint = (model: Model, settings: ModelSettings | undefined): string =>
  digestJson({ model: model.id, settings: JSON.parse(JSON.stringify(settings ?? {})) as JsonObject });

function profileOf(given: ReviewerOptions, fallback: { readonly id: string; readonly prompt: string }): Profile {
  const model = asModel(given.model);
  const prompt = given.prompt ?? fallback.prompt;
  const document = {
    profile_id: textField('profileId', given.profileId ?? fallback.id),
    profile_revision: countField('profileRevision', given.profileRevision ?? 1, 1),
    model_fingerprint: fingerprint(model, given.settings),
    prompt_sha256: sha256Hex(prompt),
  };
  return { model, prompt, settings: given.settings, document };
}

const authorProfile = ({ name, model, instructions, settings }: Author): ProfileDocument => ({
  profile_id: name,
  profile_revision: 1,
  model_fingerprint: fingerprint(model, settings),
  prompt_sha256: sha256Hex(instructions ?? ''),
});

/**
 * The terms under which an author is supervised; null where nothing is. Throws INVALID_VALUE, AUTO_SELF_REVIEW (the
 * reviewer has the author's profile id, or its model fingerprint and prompt).
 */
export function supervisionTerms(terms: AutonomyTerms, author: Author): SupervisionTerms | null {
  const preset = wordField('preset', terms.preset ?? 'autonomous', PRESETS);
  const given = wordField('resultReviewMode', terms.resultReviewMode ?? 'off', AUTO_MODES);
  const advice = wordField('approvalsReviewer', terms.approvalsReviewer ?? 'user', APPROVALS_REVIEWERS);
  const mode = preset === 'autonomous' ? 'auto_fix' : given;
  const advised = preset === 'autonomous' ? 'auto_review' : advice;
  if (mode === 'off' && advised === 'user') return null;
  const reviewer = profileOf(terms.reviewer, { id: 'reviewer', prompt: REVIEW_PROMPT });
  const { prompt: _prompt, ...sameModel } = terms.reviewer;
  const permission = terms.permissionReviewer ?? sameModel;
  const permissionReviewer = profileOf(permission, { id: 'permission-reviewer', prompt: PERMISSION_PROMPT });
  const written = authorProfile(author);
  requireIndependent(written, reviewer.document);
  requireIndependent(written, permissionReviewer.document);
  const selection = {
    preset,
    result_review_mode: mode,
    approvals_reviewer: advised,
    source: SUPERVISOR,
    author: written,
  };
  const budgets = budgetsOf(terms.budgets ?? {});
  return { mode, selection, budgets, reviewer, permissionReviewer: advised === 'user' ? null : permissionReviewer };
}

/** Where a selection came from, when this room's supervisor made it: such a run is resumed, not swept. */
export const SUPERVISOR = 'supervisor';
