/** The entry of the bundle. The export names are the workflow types in contracts/temporal.ts. */
export { run } from './run.ts';
export { reconcile } from './reconcile.ts';
export { checkContainer } from './system/check-container.ts';
export { deliver } from './system/deliver.ts';
export { scheduledStart } from './system/scheduled-start.ts';
export { retention } from './system/retention.ts';
