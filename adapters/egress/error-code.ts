/**
 * The first `code` of an error, of its aggregated errors, or of its causes. It checks shapes instead of
 * classes, because errors of the runtime can come from another realm.
 */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if ('errors' in error && Array.isArray(error.errors)) return codeOf(error.errors[0]);
  return 'cause' in error ? codeOf(error.cause) : '';
}
