/** For people who start workflows without building any: a form, and what became of it. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { Run, StartableWorkflow } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { SearchField } from '../../ui/filters.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { StartForm } from '../../ui/start-form/start-form.tsx';
import { useTitle } from '../../ui/title.ts';
import { tell } from '../../ui/toasts.tsx';
import { Value } from '../../ui/value.tsx';
import css from './start.module.css';
import { words } from './words.ts';

const WAIT_SECONDS = 20;
const RETRY_MS = 5_000;
const ENDED: ReadonlySet<Run['status']> = new Set(['completed', 'faulted', 'cancelled']);

export function Start() {
  useTitle(words.title);
  const { workflow, run } = query.value;
  return (
    <div class={page['page']}>
      <h1>{words.title}</h1>
      {run !== undefined ? (
        <Started key={run} id={run} />
      ) : workflow !== undefined ? (
        <Form key={workflow} id={workflow} />
      ) : (
        <Startable />
      )}
    </div>
  );
}

function Startable() {
  const { q = '' } = query.value;
  const list = usePages(['startable', q], (cursor) =>
    client.page('listStartableWorkflows', {
      query: { cursor: cursor ?? undefined, q: q === '' ? undefined : q },
    }),
  );
  return (
    <>
      <p class="muted">{words.help}</p>
      <search class={page['filters']}>
        <SearchField label={words.search} value={q} />
      </search>
      <ListState
        list={list}
        filter={q === '' ? '' : `“${q}”`}
        onClear={() => setQuery({ q: undefined })}
        empty={<p>{words.none}</p>}
      >
        <ul class={css['choices']}>
          {list.items.value.map(({ id, name }: StartableWorkflow) => (
            <li key={id}>
              <a href={`?workflow=${id}`}>{name}</a>
            </li>
          ))}
        </ul>
      </ListState>
    </>
  );
}

function Form({ id }: { id: string }) {
  const found = useSignal<StartableWorkflow | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    client.call('getStartableWorkflow', { path: { id } }).then(
      (workflow) => (found.value = workflow),
      (failure: unknown) => (error.value = failure),
    );
  }, [id]);
  if (error.value !== null) return <ProblemText error={error.value} />;
  if (found.value === null) return null;
  const { name, input_schema: schema } = found.value;
  return (
    <>
      <h2>{name}</h2>
      <StartForm
        workflowId={id}
        schema={schema ?? undefined}
        onStarted={(run) => {
          setQuery({ run: run.id });
          tell(words.started(name));
        }}
      />
      <p>
        <a href="?">{words.all}</a>
      </p>
    </>
  );
}

/** Asks the server for the end of the run, as long as the screen is open. */
function useRun(id: string) {
  const run = useSignal<Run | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    const left = new AbortController();
    const follow = async (): Promise<void> => {
      for (let first = true; !left.signal.aborted; first = false) {
        try {
          const headers = first ? {} : { Prefer: `wait=${WAIT_SECONDS}` };
          run.value = await client.call('getRun', { path: { id }, headers, signal: left.signal });
          error.value = null;
          if (ENDED.has(run.value.status)) return;
        } catch (failure) {
          if (left.signal.aborted) return;
          error.value = failure;
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
    };
    void follow();
    return () => left.abort();
  }, [id]);
  return { run, error };
}

function Started({ id }: { id: string }) {
  const { run, error } = useRun(id);
  if (run.value === null) return error.value === null ? null : <ProblemText error={error.value} />;
  const { workflow_name: name, workflow_id: workflow, status, output, input_params: input, can } = run.value;
  const cancel = async () => {
    run.value = await client.call('cancelRun', { path: { id } });
  };
  return (
    <>
      <h2>{words.run(name)}</h2>
      <p role="status">{words.statuses[status]}</p>
      {error.value !== null && <ProblemText error={error.value} />}
      {run.value.error !== null && (
        <p class="problem">
          {words.faulted}: {run.value.error?.title ?? run.value.error?.type}
        </p>
      )}
      <h3>{words.input}</h3>
      <Value value={input} label={words.input} />
      {status === 'completed' && (
        <>
          <h3>{words.output}</h3>
          <Value value={output} label={words.output} />
        </>
      )}
      <div class={page['actions']}>
        {can.includes('cancel') && (
          <button type="button" onClick={() => void cancel()}>
            {words.cancel}
          </button>
        )}
        {workflow !== null && <a href={`?workflow=${workflow}`}>{words.again}</a>}
        {!run.value.by_grant && <a href={runAddress(id)}>{words.inside}</a>}
        <a href="?">{words.all}</a>
      </div>
    </>
  );
}
