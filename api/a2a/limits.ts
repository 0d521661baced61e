/** Limit of one message, in every binding. */
export const A2A_BODY_LIMIT_BYTES = 16 * 1024 * 1024;
