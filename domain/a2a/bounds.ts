/** The most parts of a message, and the most entries of each other list of a request. */
export const MAX_LISTED = 1_000;

/**
 * The most names and values of a request's JSON in all. A million names take seconds to read, to write and to
 * look through, a million values less than half of one.
 */
export const MAX_NAMES = 200_000;
export const MAX_VALUES = 1_000_000;
