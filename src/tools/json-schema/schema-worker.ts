import { LIMITS } from '../../core/index.ts';
import { parentPort } from 'node:worker_threads';
import type { SchemaIssue } from '../model.ts';
import { interpret } from './interpret.ts';
import { type PreparedSchema, prepareSchema } from './prepare.ts';

/** One check, as text: the schema travels with its first check only. */
export interface WorkerJob {
  readonly job: number;
  readonly schemaId: number;
  readonly schemaText: string | null;
  readonly valueText: string;
}

export type WorkerAnswer =
  | { readonly ready: true }
  | { readonly ready: false; readonly job: number; readonly issues: readonly SchemaIssue[] };

const prepared = new Map<number, PreparedSchema>();

function answer(job: WorkerJob): WorkerAnswer {
  if (job.schemaText !== null) prepared.set(job.schemaId, prepareSchema(JSON.parse(job.schemaText)));
  const schema = prepared.get(job.schemaId);
  const issues =
    schema === undefined
      ? [{ path: '', message: 'this value cannot be checked against its schema' }]
      : interpret(schema, JSON.parse(job.valueText), LIMITS.workerCheckSteps);
  return { ready: false, job: job.job, issues };
}

parentPort?.on('message', (job: WorkerJob) => parentPort?.postMessage(answer(job)));
parentPort?.postMessage({ ready: true } satisfies WorkerAnswer);
