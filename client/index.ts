/** The typed client of Cadenza's API, for browsers and Node.js: `README.md`. */
export { createClient } from './client.ts';
export type { Answer, Client, ClientOptions, ListId, OperationId, Page, StreamId } from './client.ts';
export type { ServerEvent, StreamOptions, StreamState } from './events.ts';
export { isPartial } from './partial-output.ts';
export type { PartialOutput } from './partial-output.ts';
export { OPERATIONS } from './operations.ts';
export type * from './operations.ts';
export { ApiError, isLasting, isRefusal } from './problem.ts';
export type { FieldProblem } from './problem.ts';
export { createWorker, JobError } from './worker.ts';
export type { Job as WorkerJob, JobContext, JobEnd, Worker, WorkerOptions } from './worker.ts';
