export { STORE_SUITE, STORE_SUITE_SCHEMA, type StoreCase, type StorePlace } from './store-suite.ts';
