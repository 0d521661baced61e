/** SQLSTATE 3D000: the server is reachable, but has no database of this name. */
export function isMissingDatabase(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === '3D000') return true;
  }
  return false;
}
