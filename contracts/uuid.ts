/** Format of UUIDs everywhere. It equals `z.guid()`, which checks requests. */
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * Accepts upper and lower case, as PostgreSQL and clients do, and any version: ids of older rows and tests
 * have no version.
 */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * Accepts lower case only, as PostgreSQL and this platform write UUIDs, so that they can be compared or name
 * files.
 */
export function isLowercaseUuid(text: string): boolean {
  return isUuid(text) && text === text.toLowerCase();
}

/** Whether the UUID may be one that this platform has made: those have version 7. */
export function isOwnUuid(text: string): boolean {
  return isUuid(text) && text[14] === '7';
}
