import { standardErrorName } from '../../contracts/dsl-error.ts';
import type { DslError } from '../../contracts/dsl-error.ts';

/** For the client: what went wrong, without our internals. */
export function reasonOf(error: DslError | null | undefined): string {
  const title = error?.title ?? 'The task failed';
  const internal = !error || standardErrorName(error.type) === 'runtime';
  return internal || !error.detail ? `${title}.` : `${title}: ${error.detail}`;
}
