import { canonicalJson, digestJson, type JsonObject, type JsonValue, PackageError } from '../../../src/core/index.ts';
import { type ObservationScope, preflightObservations } from '../../../src/packages/index.ts';
import { assert, check, contract } from '../../support/index.ts';

const SCOPE: ObservationScope = {
  artifactIds: new Set(['a1', 'a2']),
  artifactOfVersion: new Map([
    ['v1', 'a1'],
    ['v2', 'a2'],
  ]),
  cellIds: new Set(['c1', 'c2']),
  frameIds: new Set(['f1']),
  environmentIds: new Set(['e1']),
};

const RECORD: JsonObject = {
  observation_id: 'o1',
  artifact_id: 'a1',
  version_id: 'v1',
  producing_cell_id: 'c1',
  capture_kind: 'version_created',
  filename: 'prediction.csv',
  created_at: 10,
};

function sealed(observations: JsonValue[]): Buffer {
  const seal = digestJson({ observations, schema_version: 1 });
  return Buffer.from(canonicalJson({ schema_version: 1, observations, observations_sha256: seal }));
}

function refused(payload: Uint8Array, text: RegExp): void {
  assert.throws(
    () => preflightObservations(payload, SCOPE),
    (error) => error instanceof PackageError && text.test(error.message),
  );
}

const one = (change: JsonObject): Buffer => sealed([{ ...RECORD, ...change }]);

contract('PKG-185', 'two cells of one version pass, in their order', () => {
  const second = { ...RECORD, observation_id: 'o2', producing_cell_id: 'c2', capture_kind: 'head_checksum_reused' };
  const records = preflightObservations(sealed([RECORD, second]), SCOPE);
  assert.deepEqual(
    records.map((record) => [record['observation_id'], record['version_id']]),
    [
      ['o1', 'v1'],
      ['o2', 'v1'],
    ],
  );
});

check('too many records and too many bytes are found before any record is read', () => {
  const many = sealed(Array.from({ length: 100_001 }, () => ({})));
  assert.ok(many.length <= 16 * 1024 * 1024);
  refused(many, /too many artifact observations/);
  refused(Buffer.alloc(16 * 1024 * 1024 + 1, 'x'), /16 MiB portable limit/);
});

check('paths, and what is not in the package, are refused by name', () => {
  refused(one({ path: '/etc', snapshot_path: '/etc' }), /filesystem path fields/);
  refused(one({ path: '/etc' }), /filesystem path fields/);
  refused(one({ artifact_id: 'x' }), /artifact references an unknown identity/);
  refused(one({ version_id: 'x' }), /artifact version references an unknown identity/);
  refused(one({ version_id: 'v2' }), /version does not belong to the referenced artifact/);
  refused(one({ producing_cell_id: 'x' }), /cell references an unknown identity/);
  refused(one({ frame_id: 'x' }), /frame references an unknown identity/);
  refused(one({ env_snapshot_id: 'x' }), /environment snapshot references an unknown identity/);
  refused(one({ input_version_ids: ['v1', 'x'] }), /input version references an unknown identity/);
});

check('each other fault of a record is refused too', () => {
  refused(one({ more: 1 }), /unknown fields/);
  refused(sealed([{ observation_id: 'o1' }]), /lacks required fields/);
  refused(one({ capture_kind: 'guess' }), /capture kind/);
  refused(one({ filename: '../x' }), /secret or unsafe artifact filename/);
  refused(one({ created_at: true }), /created_at/);
  refused(one({ checksum: 'ab' }), /checksum/);
  refused(one({ size_bytes: false }), /size/);
  refused(sealed([RECORD, RECORD]), /duplicate/);
  const unsealed = Buffer.from(canonicalJson({ schema_version: 1, observations: [], observations_sha256: 'x' }));
  refused(unsealed, /digest mismatch/);
});
