export { assert, check, contract, judged } from './contract.ts';
