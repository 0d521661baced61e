/** A workflow: what it does, how to start it, how its runs went, and how it changed. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { Workflow } from '../../../../client/index.ts';
import { isRecord } from '../../../../contracts/is-record.ts';
import { useKeys } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { listAddress } from '../../app/neighbours.tsx';
import { RecordPath } from '../../app/record-path.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { editorAddress, marketItemAddress, runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';
import { Diagram } from '../../ui/diagram/diagram.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { focusDrawn } from '../../ui/focus.ts';
import { HistoryLink } from '../../ui/history-link.tsx';
import page from '../../ui/page.module.css';
import { detailOf, ProblemText } from '../../ui/problem.tsx';
import { RecordSkeleton } from '../../ui/record-skeleton.tsx';
import { StartForm } from '../../ui/start-form/start-form.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { teamName } from '../../data/teams.ts';
import { useTitle } from '../../ui/title.ts';
import { complain, tell } from '../../ui/toasts.tsx';
import { WarningList } from '../../ui/warnings.tsx';
import { When } from '../../ui/when.tsx';
import { WorkflowState } from '../../ui/workflow-state.tsx';
import { Health } from './health.tsx';
import { LatestRuns } from './latest-runs.tsx';
import { partAt } from './part-at.ts';
import { words } from './words.ts';
import css from './workflow.module.css';

const Definition = lazy(async () => (await import('./definition.tsx')).Definition);
const Revisions = lazy(async () => (await import('./revisions.tsx')).Revisions);
const ScheduleCard = lazy(async () => (await import('./schedule.tsx')).ScheduleCard);
const Pinned = lazy(async () => (await import('./pinned.tsx')).Pinned);
const EventSendersCard = lazy(async () => (await import('./event-senders.tsx')).EventSendersCard);
const BudgetPart = lazy(async () => (await import('../../ui/budget/budget.tsx')).BudgetPart);
const Details = lazy(async () => (await import('./details.tsx')).Details);
const Move = lazy(async () => (await import('../../ui/move/move.tsx')).Move);
const Share = lazy(async () => (await import('../../ui/share/share.tsx')).Share);

const VIEWS = ['overview', 'revisions', 'definition'] as const;
type View = (typeof VIEWS)[number];
const START = 'start-form';

export function WorkflowScreen({ id }: { id: string }) {
  const {
    data: workflow,
    error,
    refetch,
  } = useQuery<Workflow>({
    queryKey: ['workflow', id],
    queryFn: ({ signal }) => client.call('getWorkflow', { path: { id }, signal }),
  });
  useTitle(words.document(workflow?.name ?? id));
  // Somebody may have saved a revision since the record was last read.
  useEffect(() => void cache.invalidateQueries({ queryKey: ['workflow', id] }), [id]);
  return (
    <div class={page['page']}>
      <RecordPath list="workflows" id={id}>
        {workflow?.name}
      </RecordPath>
      {workflow !== undefined && <Loaded workflow={workflow} />}
      {workflow === undefined && error === null && <RecordSkeleton title={words.document(id)} />}
      {workflow === undefined && error !== null && (
        <>
          <h1 class="hidden-text">{words.document(id)}</h1>
          <ProblemText error={error} retry={() => void refetch()} />
        </>
      )}
    </div>
  );
}

function Loaded({ workflow }: { workflow: Workflow }) {
  const view: View = VIEWS.find((one) => one === query.value['view']) ?? 'overview';
  const show = (to: View) => setQuery({ view: to === 'overview' ? undefined : to }, 'replace');
  const canUpdate = workflow.can.includes('update');
  const goToStart = () => {
    show('overview');
    focusDrawn(`#${START} :is(input, select, textarea, button)`);
  };
  const toList = () => navigate(listAddress('workflows'));
  useKeys(
    {
      ...Object.fromEntries(VIEWS.map((one, index) => [String(index + 1), () => show(one)])),
      ...(workflow.can.includes('run') ? { s: goToStart } : {}),
      ...(canUpdate ? { e: () => navigate(editorAddress(workflow.id)) } : {}),
      u: toList,
      Escape: toList,
    },
    {
      ...words.shortcuts,
      ...Object.fromEntries(VIEWS.map((one, index) => [String(index + 1), words.show(words.views[one])])),
    },
  );
  return (
    <>
      <Header workflow={workflow} onStart={goToStart} />
      <Tabs
        label={words.viewsLabel}
        tabs={VIEWS.map((one) => ({ id: one, label: words.views[one] }))}
        current={view}
        onChange={show}
      >
        {view === 'overview' && <Overview workflow={workflow} />}
        {view === 'revisions' && <Revisions workflow={workflow} />}
        {view === 'definition' && <Definition key={workflow.revision} workflow={workflow} />}
      </Tabs>
    </>
  );
}

function Header({ workflow, onStart }: { workflow: Workflow; onStart: () => void }) {
  return (
    <header class={page['head']}>
      <div class={page['heading']}>
        <h1>{workflow.name}</h1>
        <p class={page['facts']}>
          <WorkflowState {...workflow} />
          <span>{words.revision(workflow.revision)}</span>
          <span>{words.visibility[workflow.visibility]}</span>
          {workflow.team_id !== null && <span>{words.ofTeam(teamName(workflow.team_id))}</span>}
          <span>
            {words.changed} <When at={workflow.updated_at} />
          </span>
          {workflow.provenance !== null && (
            <a href={marketItemAddress(workflow.provenance.item_id)}>
              {words.installedFrom(workflow.provenance.version, workflow.provenance.publisher.username)}
            </a>
          )}
          {workflow.tags.map((tag) => (
            <span key={tag} class={css['tag']}>
              {tag}
            </span>
          ))}
        </p>
        {workflow.description !== null && <p class={css['description']}>{workflow.description}</p>}
        {/* It is there without warnings too, so that those of a change are read out. */}
        <div class={css['warnings']} role="status">
          <WarningList warnings={workflow.warnings} />
        </div>
      </div>
      <div class={page['actions']}>
        {workflow.can.includes('run') && (
          <button type="button" class="primary" onClick={onStart}>
            {words.start} <kbd>s</kbd>
          </button>
        )}
        {workflow.can.includes('update') && (
          <a href={editorAddress(workflow.id)}>
            {words.edit} <kbd>e</kbd>
          </a>
        )}
        <MoreActions workflow={workflow} />
        <HistoryLink id={workflow.id} team={workflow.team_id} />
        {workflow.can.includes('move') && (
          <Move
            kind="workflow"
            name={workflow.name}
            team={workflow.team_id}
            onMove={async (to) => {
              const path = { id: workflow.id };
              const saved = await client.call('updateWorkflow', { path, body: to });
              cache.setQueryData(['workflow', workflow.id], saved);
            }}
          />
        )}
        {workflow.can.includes('delete') && <Delete workflow={workflow} />}
      </div>
    </header>
  );
}

/** Buttons whose dialogs are loaded on their own. */
function MoreActions({ workflow: { id, can } }: { workflow: Workflow }) {
  const opened = useSignal<'details' | 'share' | null>(null);
  const close = () => (opened.value = null);
  const button = (name: 'details' | 'share') => (
    <button type="button" onClick={() => (opened.value = name)}>
      {words[name]}
    </button>
  );
  return (
    <>
      {can.includes('update') && button('details')}
      {can.includes('publish') && button('share')}
      {can.includes('update') && <Details id={id} open={opened.value === 'details'} onClose={close} />}
      {can.includes('publish') && (
        <Share kind="workflow" refId={id} open={opened.value === 'share'} onClose={close} />
      )}
    </>
  );
}

function Delete({ workflow }: { workflow: Workflow }) {
  const isAsking = useSignal(false);
  const isBusy = useSignal(false);
  const remove = async () => {
    isAsking.value = false;
    isBusy.value = true;
    try {
      await client.call('deleteWorkflow', { path: { id: workflow.id } });
      navigate(listAddress('workflows'));
      cache.removeQueries({ queryKey: ['workflow', workflow.id] });
      tell(words.removed(workflow.name));
    } catch (error) {
      complain(detailOf(error));
      isBusy.value = false;
    }
  };
  return (
    <>
      <button type="button" disabled={isBusy.value} onClick={() => (isAsking.value = true)}>
        {words.remove}
      </button>
      <Dialog
        open={isAsking.value}
        title={words.removeTitle(workflow.name)}
        onClose={() => (isAsking.value = false)}
      >
        <p>{words.removeText}</p>
        <div class={page['actions']}>
          <button type="button" class="primary" onClick={() => void remove()}>
            {words.remove}
          </button>
          <button type="button" onClick={() => (isAsking.value = false)}>
            {words.keep}
          </button>
        </div>
      </Dialog>
    </>
  );
}

function Overview({ workflow }: { workflow: Workflow }) {
  const may = workflow.can.includes('run');
  return (
    <div class={css['overview']}>
      <div class={css['column']}>
        <Picture workflow={workflow} />
        <Problems workflow={workflow} />
        {workflow.resources !== undefined && <Pinned resources={workflow.resources} />}
        <Health workflowId={workflow.id} />
        <LatestRuns workflowId={workflow.id} />
      </div>
      <div class={css['side']}>
        <section id={START} class={`${page['part']} ${css['card']}`}>
          <h2>{words.startTitle}</h2>
          {may ? (
            <StartForm
              key={workflow.revision}
              workflowId={workflow.id}
              schema={workflow.input_schema}
              onStarted={(run) => {
                navigate(runAddress(run.id));
                tell(words.started(workflow.name));
              }}
            />
          ) : (
            <p class="muted">{workflow.runnable ? words.mayNotStart : words.cannotStart}</p>
          )}
        </section>
        {isScheduled(workflow) && <ScheduleCard workflow={workflow} />}
        {workflow.can.includes('update') && (
          <BudgetPart
            id={workflow.id}
            budget={workflow.budget}
            own
            save={async (budget) => {
              const path = { id: workflow.id };
              const saved = await client.call('updateWorkflow', { path, body: { budget } });
              cache.setQueryData(['workflow', workflow.id], saved);
            }}
          />
        )}
        {workflow.can.includes('update') && takesEvents(workflow) && <EventSendersCard workflow={workflow} />}
      </div>
    </div>
  );
}

/** Without a schedule, runs start by hand only. */
function isScheduled({ definition: { schedule } }: Workflow): boolean {
  return isRecord(schedule) && ['every', 'cron', 'after', 'on'].some((kind) => kind in schedule);
}

/** Events start it, or it seems to listen for them. */
function takesEvents({ definition }: Workflow): boolean {
  const { schedule } = definition;
  return (isRecord(schedule) && 'on' in schedule) || JSON.stringify(definition).includes('"listen":');
}

/** The definition as a picture. A click shows what the task says. */
function Picture({ workflow: { definition, problems } }: { workflow: Workflow }) {
  const chosen = useSignal<string | null>(null);
  const task = chosen.value === null ? undefined : partAt(definition, chosen.value);
  return (
    <section class={page['part']}>
      <h2>{words.picture}</h2>
      <div class={css['picture']}>
        <Diagram
          definition={definition}
          problems={problems}
          chosen={chosen.value}
          onSelect={(pointer) => (chosen.value = pointer === chosen.value ? null : pointer)}
        />
      </div>
      {task !== undefined && (
        <pre class={css['definition']} role="region" aria-label={words.task} tabIndex={0}>
          {JSON.stringify(task, null, 2)}
        </pre>
      )}
    </section>
  );
}

function Problems({ workflow: { problems } }: { workflow: Workflow }) {
  if (problems.length === 0) return null;
  return (
    <section class={page['part']}>
      <h2>{words.problems}</h2>
      <ul class={css['problems']}>
        {problems.map(({ pointer, message, severity, code }) => (
          <li key={`${pointer} ${code} ${message}`} class={css['problem']} data-severity={severity}>
            <span>
              {words.severities[severity]}: {message}
            </span>
            <code class={css['pointer']}>{pointer === '' ? words.whole : pointer}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
