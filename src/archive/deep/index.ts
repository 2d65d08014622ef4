import type { JsonObject, JsonValue } from '../../core/index.ts';
import { DOCUMENT_BYTES, type DocumentName, DOCUMENTS, type Documents, parseDocument } from '../documents.ts';
import { aboutFile, type Finding, refusal } from '../finding.ts';
import { readLedger } from '../ledger-document.ts';
import type { SessionPackage } from '../package.ts';
import { readSession } from '../session-document.ts';
import { checkArtifacts } from './artifacts.ts';
import { checkCheckpointStates } from './checkpoint-states.ts';
import { DeepContext, type RecordLimits } from './context.ts';
import { checkDeliveries } from './deliveries.ts';
import { checkGraph } from './graph.ts';
import { checkIdentities, checkLists, checkReferences } from './records.ts';
import { holdsNamedSecret, scanForSecrets, type SecretScan } from './secrets.ts';
import { checkWorkspace } from './workspace.ts';

export type { RecordLimits } from './context.ts';
export type { SecretScan } from './secrets.ts';

/**
 * The documents of a package (groups and messages as outlines: see `readLedger`, `readSession`), and everything that would keep it from
 * being imported, in the order in which it shows.
 */
export interface DeepFindings {
  readonly documents: Documents;
  readonly findings: readonly Finding[];
}

/**
 * Looks into a package as an importer would before its first write: secrets, documents, bounds, identities, branches,
 * workspace, artifacts, sealed states, deliveries. Each step runs only when those before it found nothing, because what
 * it looks at rests on them. Auto mode history is not replayed here.
 */
export async function examinePackage(
  pkg: SessionPackage,
  limits: RecordLimits = {},
  scan: SecretScan = {},
): Promise<DeepFindings> {
  const missing = DOCUMENTS.filter((name) => !pkg.files.has(name));
  if (missing.length > 0)
    return {
      documents: new Map(),
      findings: missing.map((name) => aboutFile('PACKAGE_DOCUMENT_MISSING', 'required document is missing', name)),
    };
  const secrets = await scanForSecrets(pkg, scan);
  if (secrets.length > 0) return { documents: new Map(), findings: secrets };
  const { documents, findings } = await readDocuments(pkg);
  if (findings.length > 0) return { documents, findings };
  const context = new DeepContext(pkg, documents, limits);
  for (const step of STEPS) {
    await step(context);
    if (context.findings.length > 0) break;
  }
  return { documents, findings: context.findings };
}

/** `examinePackage` where a package must be importable: the first finding is thrown; gives the documents. */
export async function preflightPackage(
  pkg: SessionPackage,
  limits: RecordLimits = {},
  scan: SecretScan = {},
): Promise<Documents> {
  const { documents, findings } = await examinePackage(pkg, limits, scan);
  if (findings[0]) throw refusal(findings[0]);
  return documents;
}

const STEPS: readonly ((context: DeepContext) => void | Promise<void>)[] = [
  checkLists,
  checkIdentities,
  checkReferences,
  checkArtifacts,
  checkGraph,
  checkWorkspace,
  checkCheckpointStates,
  checkDeliveries,
];

async function readDocuments(pkg: SessionPackage): Promise<{ documents: Documents; findings: Finding[] }> {
  const documents = new Map<string, JsonObject>();
  const findings: Finding[] = [];
  for (const name of DOCUMENTS) {
    let namesSecret = false;
    const see = (value: JsonValue): void => {
      namesSecret ||= holdsNamedSecret(value);
    };
    const document = await readDocument(pkg, name, see);
    if (!document) findings.push(aboutFile('PACKAGE_DOCUMENT_INVALID', 'not one strict JSON object', name));
    else if (namesSecret || holdsNamedSecret(document))
      findings.push(aboutFile('PACKAGE_SECRET', 'secret material in', name));
    else documents.set(name, document);
  }
  return { documents, findings };
}

/** The ledger and the messages may be larger than all else together: of their records only outlines stay. */
const BULKY = new Map<DocumentName, typeof readLedger>([
  ['ledger.json', readLedger],
  ['session.json', readSession],
]);

async function readDocument(
  pkg: SessionPackage,
  name: DocumentName,
  see: (record: JsonValue) => void,
): Promise<JsonObject | undefined> {
  const read = BULKY.get(name);
  if (!read) return parseDocument(await pkg.bytes(name, DOCUMENT_BYTES));
  return (pkg.files.get(name)?.size ?? 0) > DOCUMENT_BYTES ? undefined : read(pkg.passing(name), see);
}
