import type { CallListener, CallOutcome, CallsContext, CallStanding } from '../calls/index.ts';
import type { Filesystem } from '../effects/index.ts';
import type { Model, ModelSettings } from '../models/index.ts';
import type { AllowedTools } from '../tools/index.ts';
import type { RunRecord } from './model.ts';

/** What the functions of this room need of the world; made once, in the composition root. */
export interface RunsContext {
  readonly calls: CallsContext;
  /** This process in `instances`: what owns the runs it carries out. */
  readonly instanceId: string;
  readonly filesystem: Filesystem;
}

/** An agent as a run needs it: a model, what it may call, and its bounds. */
export interface Agent {
  readonly name: string;
  readonly model: Model;
  readonly instructions: string | null;
  readonly allowed: AllowedTools;
  readonly settings?: ModelSettings;
  /** Model turns of one run, at most. */
  readonly maxTurns: number;
  /** Every call waits for a person, whatever its tool says. */
  readonly askForEach: boolean;
}

/** What a host may hear of a run while it goes on. */
export interface RunListener extends CallListener {
  onText?(text: string): void;
  onProposed?(standing: CallStanding): void;
  onStarted?(callId: string, toolName: string): void;
  onOutcome?(callId: string, toolName: string, outcome: CallOutcome): void;
}

/** One run that this process carries out now. */
export interface Driving {
  readonly run: RunRecord;
  readonly agent: Agent;
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal;
  readonly listener: RunListener;
}
