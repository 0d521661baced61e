/** The queue of an agent that external workers do: its jobs, the workers seen lately, and their tokens. */
import { useSignal } from '@preact/signals';

import type { Agent, Job, JobQueue, WorkerToken } from '../../../../client/index.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { usePages } from '../../data/record-pages.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './worker-words.ts';

const REFRESH_MS = 10_000;

export function Workers({ agent: { id } }: { agent: Agent }) {
  return (
    <>
      <Queue id={id} />
      <Jobs id={id} />
      <Tokens id={id} />
    </>
  );
}

type SeenWorker = JobQueue['workers'][number];

const WORKER_COLUMNS: readonly Column<SeenWorker>[] = [
  {
    title: words.workerColumns.worker,
    cell: ({ worker, token_id: token }) =>
      worker === '' ? (token ?? words.person) : token === null ? `${worker} (${words.person})` : worker,
  },
  { title: words.workerColumns.jobs, cell: ({ leased }) => leased },
  { title: words.workerColumns.seen, cell: ({ seen_at: at }) => <When at={at} />, end: true },
];

function Queue({ id }: { id: string }) {
  const { data, error, refetch } = useQuery<JobQueue>({
    queryKey: ['agent', id, 'queue'],
    queryFn: ({ signal }) => client.call('getJobQueue', { path: { id }, signal }),
    refetchInterval: REFRESH_MS,
  });
  if (error !== null && data === undefined) return <ProblemText error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  const { waiting, leased, oldest_waiting_at: oldest, workers } = data;
  return (
    <section class={page['part']}>
      <h2>{words.title}</h2>
      <p>
        {words.queue(waiting, leased)}
        {oldest !== null && (
          <>
            , {words.oldest} <When at={oldest} />
          </>
        )}
      </p>
      {workers.length === 0 ? (
        <p class="muted">{words.noWorkers}</p>
      ) : (
        <Table
          label={words.workers}
          columns={WORKER_COLUMNS}
          records={workers}
          keyOf={({ worker, token_id: token }) => `${token ?? ''} ${worker}`}
        />
      )}
    </section>
  );
}

const JOB_COLUMNS: readonly Column<Job>[] = [
  {
    title: words.jobColumns.run,
    cell: ({ run_id: run, task }) => (
      <a href={runAddress(run)}>
        <code>{task}</code>
      </a>
    ),
  },
  { title: words.jobColumns.status, cell: (job) => statusOf(job) },
  { title: words.jobColumns.queue, cell: ({ queue }) => queue, minor: true },
  {
    title: words.jobColumns.attempt,
    cell: ({ attempt, max_attempts: most }) => `${attempt} / ${most}`,
    minor: true,
  },
  { title: words.jobColumns.created, cell: ({ created_at: at }) => <When at={at} />, end: true },
];

function statusOf({ status, worker, progress, last_error: error }: Job): string {
  const more = status === 'leased' ? [worker, progress] : status === 'waiting' ? [error] : [];
  return [words.statuses[status], ...more.filter((part) => part !== null && part !== '')].join(' · ');
}

function Jobs({ id }: { id: string }) {
  const list = usePages(['agent-jobs', id], (cursor) =>
    client.page('listJobs', { path: { id }, query: { cursor: cursor ?? undefined, limit: 20 } }),
  );
  return (
    <section class={page['part']}>
      <h2>{words.jobs}</h2>
      <ListState list={list} empty={<p class="muted">{words.noJobs}</p>}>
        <Table
          label={words.jobs}
          columns={JOB_COLUMNS}
          records={list.items.value}
          keyOf={(job: Job) => job.id}
        />
      </ListState>
    </section>
  );
}

const TOKEN_SCHEMA = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', title: words.name, maxLength: 100 },
    expires_at: { type: 'string', format: 'date-time', title: words.expires },
  },
};

function Tokens({ id }: { id: string }) {
  const shown = useSignal<string | null>(null);
  const ending = useSignal<WorkerToken | null>(null);
  const list = usePages(['worker-tokens', id], (cursor) =>
    client.page('listWorkerTokens', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  const create = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request.
    const made = await client.call('createWorkerToken', { path: { id }, body: body as { name: string } });
    shown.value = made.token;
    await list.reload();
  };
  const end = async (token: string) => {
    await client.call('deleteWorkerToken', { path: { id, token_id: token } });
    await list.reload();
  };
  return (
    <section class={page['part']}>
      <h2>{words.tokens}</h2>
      <p class="muted">{words.tokensHelp}</p>
      <FormDialog
        id="worker-token"
        button={words.newToken}
        title={words.newToken}
        help={words.newTokenHelp}
        submit={words.create}
        schema={TOKEN_SCHEMA}
        onSubmit={create}
      />
      {shown.value !== null && (
        <p role="status">
          {words.shownOnce} <code>{shown.value}</code>
        </p>
      )}
      {list.items.value.some((token) => token.awaits_second_factor) && <p>{words.waitsHelp}</p>}
      <ListState list={list} empty={<p class="muted">{words.noTokens}</p>}>
        <Table
          label={words.tokens}
          columns={tokenColumns((token) => (ending.value = token))}
          records={list.items.value}
          keyOf={(token: WorkerToken) => token.id}
        />
      </ListState>
      <Confirm
        title={ending.value === null ? null : words.endTitle(ending.value.name)}
        text={words.endText}
        act={words.end}
        onClose={() => (ending.value = null)}
        onAct={() => end(ending.value?.id ?? '')}
      />
    </section>
  );
}

function tokenColumns(end: (token: WorkerToken) => void): Column<WorkerToken>[] {
  return [
    {
      title: words.name,
      cell: ({ name, awaits_second_factor: waits }) => (
        <>
          {name}
          {waits && <b> {words.waits}</b>}
        </>
      ),
    },
    { title: words.used, cell: ({ last_used: at }) => (at === null ? words.never : <When at={at} />) },
    { title: words.expires, cell: ({ expires_at: at }) => <When at={at} />, minor: true },
    {
      title: words.acts,
      acts: true,
      cell: (token) => (
        <button type="button" onClick={() => end(token)}>
          {words.end}
        </button>
      ),
    },
  ];
}
