import { MAX_NAMES, MAX_VALUES } from '../../domain/a2a/bounds.ts';

/** Limit of one message, in every binding. */
export const A2A_BODY_LIMIT_BYTES = 16 * 1024 * 1024;
/** Of what is in it, in every binding. */
export const A2A_JSON_BOUNDS = { names: MAX_NAMES, values: MAX_VALUES };
