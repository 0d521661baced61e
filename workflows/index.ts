/** The bundle's one entry. Names are what Temporal knows the workflows by: contracts/temporal.ts. */
export { run } from './run.ts';
export { reconcile } from './reconcile.ts';
export { deliver } from './system/deliver.ts';
export { retention } from './system/retention.ts';
