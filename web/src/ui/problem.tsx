/** A refusal in the server's own words, with what finds it in the server's log, and a way to try again. */
import { ApiError } from '../../../client/index.ts';
import { WrongEntry } from '../data/wrong-entry.ts';
import css from './problem.module.css';
import { words } from './problem-words.ts';

export function ProblemText({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class={css['problem']} role="alert">
      <p>{detailOf(error)}</p>
      {error instanceof ApiError && error.requestId !== null && (
        <p class={css['id']}>
          {words.requestId} <code>{error.requestId}</code>
        </p>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          {words.tryAgain}
        </button>
      )}
    </div>
  );
}

export function detailOf(error: unknown): string {
  if (error instanceof ApiError) return error.status === 404 ? words.notFound(error.detail) : error.detail;
  return error instanceof WrongEntry ? error.message : words.unreachable;
}
