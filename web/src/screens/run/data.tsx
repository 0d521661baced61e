/** Input and output of the whole run. */
import type { Run } from '../../../../client/index.ts';
import { lazy } from '../../app/lazy.tsx';
import page from '../../ui/page.module.css';
import { Value } from '../../ui/value.tsx';
import css from './run.module.css';
import { words } from './words.ts';

const Budget = lazy(async () => (await import('../../ui/budget/budget.tsx')).Used);

export function Data({ run }: { run: Run }) {
  return (
    <div class={css['data']}>
      <section class={page['part']}>
        <h2>{words.input}</h2>
        {run.input_params === null || run.input_params === undefined ? (
          <p class="muted">{words.noInput}</p>
        ) : (
          <Value value={run.input_params} label={words.input} />
        )}
      </section>
      {run.budget_id !== null && (
        <section class={page['part']}>
          <h2>{words.budget}</h2>
          <Budget id={run.budget_id} />
        </section>
      )}
      {Object.keys(run.usage).length > 0 && (
        <section class={page['part']}>
          <h2>{words.usage}</h2>
          <Value value={run.usage} label={words.usage} />
        </section>
      )}
      <section class={page['part']}>
        <h2>{words.output}</h2>
        {run.status === 'completed' ? (
          <Value value={run.output} label={words.output} />
        ) : (
          <p class="muted">{run.finished_at === null ? words.noOutputYet : words.noOutput}</p>
        )}
      </section>
    </div>
  );
}
