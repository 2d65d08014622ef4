export { versionUrl } from './deep/deliveries.ts';
export {
  type DeepFindings,
  examinePackage,
  preflightPackage,
  type RecordLimits,
  type SecretScan,
} from './deep/index.ts';
export { bytesHoldSecret } from './deep/secrets.ts';
export { isInsideWorkspace, isPlainFileName, isSecretPath } from './deep/file-names.ts';
export { type DeepOptions, type DeepReport, deepVerify } from './deep-verify.ts';
export { type Difference, diffPackages, type PackageDiff } from './diff.ts';
export { DOCUMENTS, type DocumentName, type Documents, RECORD_LISTS, recordsOf } from './documents.ts';
export type { Finding } from './finding.ts';
export { type InspectOptions, type Inspection, inspectPackage } from './inspect.ts';
export { keyFingerprint, readPublicKey, newSigningKey, readPrivateKey, type SigningKey } from './keys.ts';
export { type LedgerPart, ledgerParts, namesOfLedger } from './ledger-document.ts';
export type { LedgerNameKind, LedgerNames } from './ledger-names.ts';
export { ARCHIVE_LIMITS, type ArchiveLimits } from './limits.ts';
export { MANIFEST_NAME, type ManifestRow, PACKAGE_FORMAT, PACKAGE_SCHEMA, sealManifest } from './manifest.ts';
export { foldName, nameFault } from './member-names.ts';
export { openPackage, type SessionPackage } from './package.ts';
export { printable } from './printable.ts';
export { type Archive, type ArchiveMember, type ArchiveOptions, openArchive } from './reader.ts';
export {
  judgeSignature,
  type PackageSignature,
  readSignature,
  type SignatureVerdict,
  signPackage,
} from './signature.ts';
export { sessionMessages } from './session-document.ts';
export { bytesSource, type ByteSource, fileSource } from './source.ts';
export { readTrustedKeys, type TrustedKeys } from './trusted-keys.ts';
export { type Verification, verifyAlone, verifyPackage, type VerifyReport } from './verify.ts';
export { type NewMember, writeArchive, writeArchiveFile } from './writer.ts';
