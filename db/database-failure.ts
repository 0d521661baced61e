/** What programs say when the database cannot be used, without its password. */

/** @param doing what was tried, such as "migrate" */
export function databaseFailure(doing: string, url: string, error: unknown): string {
  const { host, pathname } = new URL(url);
  return `Cannot ${doing} the database ${JSON.stringify(pathname.slice(1))} on ${host}: ${reasonOf(error)}`;
}

/** Connection errors have no useful stack, nor has what was refused on purpose. */
function reasonOf(error: unknown): string {
  // One error for each address of the host.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(reasonOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Refused) return error.message;
  const code = 'code' in error ? String(error.code) : '';
  return 'syscall' in error || /^(28|3D|57P)/.test(code) ? error.message : (error.stack ?? error.message);
}

/** A refusal whose message says all. */
export class Refused extends Error {}
