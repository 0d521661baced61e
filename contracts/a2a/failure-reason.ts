import { standardErrorName, type DslError } from '../dsl-error.ts';

/** The reason for clients, without internals. */
export function reasonOf(error: DslError | null | undefined): string {
  const title = error?.title ?? 'The task failed';
  const internal = !error || standardErrorName(error.type) === 'runtime';
  return internal || !error.detail ? `${title}.` : `${title}: ${error.detail}`;
}
