export { countingIds, type ManualClock, manualClock, movedClock } from './clock.ts';
export { assert, check, contract, judged } from './contract.ts';
export { armFaults, type ArmedFault, type ArmedFaults } from './faults.ts';
export { type CommandOptions, type CommandResult, holdfast } from './command.ts';
export { configuredFolder, type ConfiguredFolder, LETTER_AGENT } from './configured-folder.ts';
export { builtProgram, installedCommand } from '../../scripts/installed.ts';
export { PLAIN } from './plain-colours.ts';
export { seeded } from './seeded.ts';
export { type Ending, temporaryFolder } from './temporary-folder.ts';
