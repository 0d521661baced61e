/** The whole definition: as YAML with its author's comments, or as JSON. */
import type { Workflow } from '../../../../client/index.ts';
import { query } from '../../app/router.ts';
import { Choice } from '../../ui/filters.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { useText } from './use-text.ts';
import { words } from './words.ts';
import css from './workflow.module.css';

export function Definition({ workflow: { id, revision, definition } }: { workflow: Workflow }) {
  const language = query.value['as'] === 'json' ? 'json' : '';
  const { data, error, refetch } = useText(id, revision);
  const text = language === 'json' ? JSON.stringify(definition, null, 2) : data;
  return (
    <div class={css['column']}>
      <div class={page['actions']}>
        <Choice
          name="as"
          label={words.language}
          value={language}
          options={[
            ['', 'YAML'],
            ['json', 'JSON'],
          ]}
        />
      </div>
      {text === undefined && error === null && <div aria-busy="true" />}
      {text === undefined && error !== null && <ProblemText error={error} retry={() => void refetch()} />}
      {text !== undefined && (
        <pre class={css['definition']} role="region" aria-label={words.definition} tabIndex={0}>
          {text}
        </pre>
      )}
    </div>
  );
}
