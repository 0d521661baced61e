/** Evaluations of an agent: the list, and one with its report and its cases side by side. */
import { useSignal } from '@preact/signals';

import type {
  Agent,
  Evaluation,
  EvaluationCaseWithResults,
  EvaluationFigures,
} from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { usePages } from '../../data/record-pages.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { detailOf, ProblemText } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { complain } from '../../ui/toasts.tsx';
import { Value } from '../../ui/value.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './evaluation-words.ts';
import { NewEvaluation } from './new-evaluation.tsx';

const REFRESH_MS = 3_000;

export function Evaluations({ agent }: { agent: Agent }) {
  const id = query.value['evaluation'];
  return id === undefined ? <All agent={agent} /> : <One key={id} id={id} />;
}

const show = (id: string | undefined) => setQuery({ evaluation: id, only: undefined }, 'push');

const COLUMNS: readonly Column<Evaluation>[] = [
  {
    title: words.columns.name,
    cell: ({ id, name }) => (
      <button type="button" onClick={() => show(id)}>
        {name ?? words.unnamed}
      </button>
    ),
  },
  { title: words.columns.status, cell: ({ status }) => words.statuses[status] },
  {
    title: words.columns.scores,
    cell: ({ report, versions }) =>
      report?.versions.map(({ version, score }) => `${version}: ${percent(score)}`).join(', ') ??
      versions.join(', '),
  },
  { title: words.columns.created, cell: ({ created_at: at }) => <When at={at} />, end: true },
];

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function All({ agent }: { agent: Agent }) {
  const list = usePages(['evaluations', agent.id], (cursor) =>
    client.page('listEvaluations', {
      path: { id: agent.id },
      query: { cursor: cursor ?? undefined, limit: 20 },
    }),
  );
  return (
    <div class={page['parts']}>
      <p class="muted">{words.help}</p>
      <NewEvaluation agent={agent} onStarted={({ id }) => show(id)} />
      <ListState list={list} empty={<p class="muted">{words.none}</p>}>
        <Table
          label={words.title}
          columns={COLUMNS}
          records={list.items.value}
          keyOf={(one: Evaluation) => one.id}
        />
      </ListState>
    </div>
  );
}

function One({ id }: { id: string }) {
  const removing = useSignal(false);
  const { data, error, refetch } = useQuery<Evaluation>({
    queryKey: ['evaluation', id],
    queryFn: ({ signal }) => client.call('getEvaluation', { path: { id }, signal }),
    refetchInterval: (state) => (state.state.data?.status === 'running' ? REFRESH_MS : false),
  });
  return (
    <div class={page['parts']}>
      <div>
        <button type="button" onClick={() => show(undefined)}>
          {words.back}
        </button>
      </div>
      {error !== null && data === undefined && <ProblemText error={error} retry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <h2>{data.name ?? words.unnamed}</h2>
          <p class={page['facts']}>
            <span>{words.statuses[data.status]}</span>
            <When at={data.created_at} />
            {data.run_id !== null && <a href={runAddress(data.run_id)}>{words.run}</a>}
            {data.retry_of !== null && (
              <button type="button" onClick={() => show(data.retry_of ?? undefined)}>
                {words.retryOf}
              </button>
            )}
            {data.status !== 'running' && <Retries of={data} />}
            {data.status !== 'running' && (
              <button type="button" onClick={() => (removing.value = true)}>
                {words.remove}
              </button>
            )}
          </p>
          {data.error !== null && <p role="alert">{data.error.detail ?? data.error.title}</p>}
          {data.report !== null && (
            <Table
              label={words.figures}
              columns={FIGURES}
              records={data.report.versions}
              keyOf={({ version }) => version}
            />
          )}
          <Cases key={data.status} id={id} />
        </>
      )}
      <Confirm
        title={removing.value ? words.removeTitle : null}
        text={words.removeText}
        act={words.remove}
        onClose={() => (removing.value = false)}
        onAct={async () => {
          await client.call('deleteEvaluation', { path: { id } });
          show(undefined);
        }}
      />
    </div>
  );
}

/** What can be tried again: the errors, what failed, or all if there is no report. */
function Retries({ of: { id, report } }: { of: Evaluation }) {
  const busy = useSignal(false);
  const count = (part: 'errors' | 'failed') => report?.versions.reduce((sum, one) => sum + one[part], 0) ?? 0;
  const retry = async (only: ('error' | 'failed')[]) => {
    busy.value = true;
    try {
      show((await client.call('retryEvaluation', { path: { id }, body: { only } })).id);
    } catch (error) {
      complain(detailOf(error));
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      {(report === null || count('errors') > 0) && (
        <button type="button" disabled={busy} onClick={() => void retry(['error'])}>
          {report === null ? words.retryAll : words.retryErrors}
        </button>
      )}
      {count('failed') > 0 && (
        <button type="button" disabled={busy} onClick={() => void retry(['error', 'failed'])}>
          {words.retryFailed}
        </button>
      )}
    </>
  );
}

const FIGURES: readonly Column<EvaluationFigures>[] = [
  { title: words.figureColumns.version, cell: ({ version }) => version },
  { title: words.figureColumns.score, cell: ({ score }) => percent(score) },
  {
    title: words.figureColumns.cases,
    cell: ({ passed, failed, errors }) => `${passed} / ${failed} / ${errors}`,
  },
  {
    title: words.figureColumns.changes,
    cell: ({ regressed, improved }) => `${regressed} / ${improved}`,
    minor: true,
  },
  {
    title: words.figureColumns.latency,
    cell: ({ latency_ms: ms }) => (ms === null ? '–' : `${ms.p50} / ${ms.p95} ms`),
    minor: true,
  },
  {
    title: words.figureColumns.cost,
    cell: ({ used: { cost_usd: cost } }) => (cost === null ? words.unknownCost : `$${cost}`),
    end: true,
  },
];

type Mark = EvaluationCaseWithResults['marks'][number];
const MARKS = Object.entries(words.marks);

function Cases({ id }: { id: string }) {
  const only = query.value['only'] ?? '';
  return (
    <section class={page['part']}>
      <h2>{words.cases}</h2>
      <label>
        {words.only}{' '}
        <select
          value={only}
          onChange={({ currentTarget: { value } }) =>
            setQuery({ only: value === '' ? undefined : value }, 'replace')
          }
        >
          {MARKS.map(([mark, label]) => (
            <option key={mark} value={mark}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <CaseList key={only} id={id} only={isMark(only) ? only : undefined} />
    </section>
  );
}

function isMark(value: string): value is Mark {
  return value !== '' && Object.hasOwn(words.marks, value);
}

function CaseList({ id, only }: { id: string; only: Mark | undefined }) {
  const list = usePages(['evaluation-cases', id, only ?? ''], (cursor) =>
    client.page('listEvaluationCases', {
      path: { id },
      query: { only, cursor: cursor ?? undefined, limit: 20 },
    }),
  );
  return (
    <ListState list={list} empty={<p class="muted">{words.noCases}</p>}>
      {list.items.value.map((one) => (
        <Case key={one.number} of={one} />
      ))}
    </ListState>
  );
}

function Case({
  of: { number, id, input, expected, results, omitted = [] },
}: {
  of: EvaluationCaseWithResults;
}) {
  return (
    <details>
      <summary>
        {words.number(number, id)}
        {(results ?? []).map(({ version, status, failed }) => (
          <span key={version}>
            {' '}
            · {version}: {[status, ...failed].join(', ')}
          </span>
        ))}
      </summary>
      <Part title={words.input} value={input} isOmitted={omitted.includes('input')} />
      <Part title={words.expected} value={expected} isOmitted={omitted.includes('expected')} />
      {(results ?? []).map(({ version, output, error, omitted: large = [] }) =>
        error === undefined ? (
          <Part
            key={version}
            title={words.output(version)}
            value={output}
            isOmitted={large.includes('output')}
          />
        ) : (
          <p key={version}>
            {version}: {error}
          </p>
        ),
      )}
    </details>
  );
}

function Part({ title, value, isOmitted }: { title: string; value: unknown; isOmitted: boolean }) {
  if (value === undefined && !isOmitted) return null;
  return (
    <>
      <h3>{title}</h3>
      {isOmitted ? <p class="muted">{words.omitted}</p> : <Value value={value} label={title} />}
    </>
  );
}
