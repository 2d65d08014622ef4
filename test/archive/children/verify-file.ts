// Verifies the file named on the command line; prints the report and the peak of resident memory in KiB.
import { fileSource, verifyPackage } from '../../../src/archive/index.ts';

const source = await fileSource(process.argv[2] ?? '');
const before = process.resourceUsage().maxRSS;
let outcome: unknown;
try {
  outcome = await verifyPackage(source);
} catch (error) {
  outcome = { code: (error as { code?: string }).code };
}
await source.close();
process.stdout.write(JSON.stringify({ outcome, before, peak: process.resourceUsage().maxRSS }));
