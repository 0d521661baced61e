/** The first screen: what waits for me, and its decision beside it. */
import { batch, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import { ApiError, type HumanTask } from '../../../../client/index.ts';
import { useKeys, type KeyTexts } from '../../app/keys.ts';
import { navigate, query, setQuery } from '../../app/router.ts';
import { inboxAddress, runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { outbox, type Outcome, type Sending } from '../../data/outbox.ts';
import { readPersonName } from '../../data/people.ts';
import { cache } from '../../data/query.ts';
import { randomKey } from '../../data/random-key.ts';
import { user } from '../../data/session.ts';
import { nowMs } from '../../ui/clock.ts';
import { focusDrawn } from '../../ui/focus.ts';
import { isNarrow } from '../../ui/narrow.ts';
import { detailOf } from '../../ui/problem.tsx';
import { relativeTime } from '../../ui/time.ts';
import { useTitle } from '../../ui/title.ts';
import { complain, tell } from '../../ui/toasts.tsx';
import { changeDraft, draftOf, dropDraft, setProblems } from './drafts.ts';
import css from './inbox.module.css';
import { prepareDecision } from './prepare.ts';
import { TaskDetail } from './task-detail.tsx';
import { TaskList } from './task-list.tsx';
import {
  filterOf,
  isWhole,
  labelOf,
  neighbourOf,
  sharedDecisions,
  showsTask,
  taskOrder,
  type Task,
  type TaskFilter,
} from './tasks.ts';
import { words } from './words.ts';

const PAGE = 50;

export function Inbox() {
  useTitle(words.title);
  const filter = filterOf(query.value);
  const list = useMemo(() => taskList(filter), [JSON.stringify(filter)]);
  useEffect(() => list.open(), [list]);
  const picked = useSignal<ReadonlySet<string>>(new Set());
  const tasks = useMemo(
    () => () => {
      const sent = new Set(outbox.sending.value.map(({ taskId }) => taskId));
      return list.items.value.filter(({ id }) => !sent.has(id));
    },
    [list],
  );
  const currentId = () => query.value['task'] ?? (isNarrow.value ? null : (tasks()[0]?.id ?? null));
  const inbox = { list, tasks, picked, currentId };
  useEffect(() => outbox.onAnswer((sent, outcome) => takeAnswer(list, sent, outcome)), [list]);
  useInboxKeys(inbox);
  const selected = currentId();
  useEffect(() => readAhead(tasks(), selected), [selected, list.items.value]);
  return (
    <div class={css['inbox']} data-shows={query.value['task'] === undefined ? 'list' : 'task'}>
      <h1 class="hidden-text">{words.title}</h1>
      <TaskList
        filter={filter}
        list={list}
        tasks={tasks()}
        currentId={selected}
        picked={picked.value}
        onBulk={(decision) => void decideMany(inbox, decision)}
        onClearPicked={() => (picked.value = new Set())}
      />
      <section class={css['detail']} aria-label={words.decision}>
        {selected === null ? (
          <p class={css['choose']}>{list.items.value.length > 0 ? words.choose : null}</p>
        ) : (
          <TaskDetail
            key={selected}
            id={selected}
            listed={list.items.value.find(({ id }) => id === selected)}
            onDecide={(task, decision) => decide(inbox, task, decision)}
          />
        )}
      </section>
    </div>
  );
}

interface InboxState {
  list: LiveList<Task>;
  /** What is shown: without tasks whose decision is on its way. */
  tasks: () => readonly Task[];
  picked: { value: ReadonlySet<string> };
  currentId: () => string | null;
}

function taskList(filter: TaskFilter): LiveList<Task> {
  const { scope, overdue, claimed, sort, q } = filter;
  return new LiveList<Task>({
    key: ['tasks', scope, String(overdue), claimed ?? '', sort, q],
    kind: 'task',
    matchedByServer: q !== '',
    shows: (task) => showsTask(filter, task, { userId: user.value?.id ?? '', nowMs: Date.now() }),
    compare: taskOrder(sort),
    read: (cursor) =>
      client.page('listHumanTasks', {
        query: {
          scope,
          view: 'summary',
          limit: PAGE,
          sort,
          ...(overdue ? { overdue } : {}),
          ...(claimed === null ? {} : { claimed_by: claimed }),
          ...(q === '' ? {} : { q }),
          ...(cursor === null ? {} : { cursor }),
        },
      }),
    readOne: (id) => client.call('getHumanTask', { path: { id } }),
  });
}

/** Reads the task after the current one, so that it shows at once after a decision. */
function readAhead(tasks: readonly Task[], currentId: string | null): void {
  const next = tasks[tasks.findIndex(({ id }) => id === currentId) + 1];
  if (currentId === null || next === undefined || isWhole(next)) return;
  void cache.prefetchQuery({
    queryKey: ['task', next.id],
    queryFn: ({ signal }) => client.call('getHumanTask', { path: { id: next.id }, signal }),
  });
}

function select(id: string | null): void {
  setQuery({ task: id ?? undefined }, 'replace');
}

function focusList(): void {
  document.querySelector<HTMLElement>('[role=listbox]')?.focus();
}

/** Sends a decision, or shows what is wrong with it. The next task is on the screen at once. */
function decide(inbox: InboxState, task: Task, decision: string): void {
  const { body, problems } = prepareDecision(task, decision, draftOf(task));
  changeDraft(task, { problems });
  if (problems.length > 0) {
    focusDrawn('[aria-invalid=true]');
    return;
  }
  const next = neighbourOf(inbox.tasks(), task.id);
  const follows = inbox.tasks().some(({ id }) => id === task.id) && !isNarrow.value;
  batch(() => {
    outbox.add(task.id, task.title, body);
    if (follows) select(next);
    else navigate(inboxAddress({ ...query.value, task: undefined }));
  });
  focusList();
}

function takeAnswer(list: LiveList<Task>, { taskId, title, body }: Sending, outcome: Outcome): void {
  if ('task' in outcome) {
    dropDraft(taskId);
    cache.setQueryData(['task', taskId], outcome.task);
    list.put(outcome.task);
    tell(words.sent(title, body.decision));
    return;
  }
  const { error } = outcome;
  void cache.invalidateQueries({ queryKey: ['task', taskId] });
  setProblems(taskId, error.errors);
  void reasonOf(error).then((reason) =>
    complain(words.refused(title, reason), {
      href: inboxAddress({ ...query.value, task: taskId }),
      text: words.openTask,
    }),
  );
}

/** A refusal because somebody was quicker names them, and what they decided. */
async function reasonOf(error: ApiError): Promise<string> {
  const winner = error.problem['decision'] as HumanTask['decision'] | undefined;
  if (error.status !== 409 || !winner) return error.detail;
  const { decided_by: by, decision, decided_at: at } = winner;
  return words.decidedFirst(await readPersonName(by), decision, relativeTime(at, nowMs.value));
}

async function decideMany({ list, tasks, picked }: InboxState, decision: string): Promise<void> {
  const chosen = tasks().filter(({ id }) => picked.value.has(id));
  try {
    const { results } = await client.call('decideHumanTasks', {
      body: { decisions: chosen.map(({ id }) => ({ task_id: id, decision })) },
      idempotencyKey: randomKey(),
    });
    const left = new Set(picked.value);
    let decided = 0;
    for (const { task_id: id, task, problem } of results) {
      if (problem === undefined) {
        left.delete(id);
        decided += 1;
        if (task !== undefined) list.put(task);
      } else {
        const title = chosen.find((one) => one.id === id)?.title ?? id;
        complain(words.refused(title, problem.detail), {
          href: inboxAddress({ ...query.value, task: id }),
          text: words.openTask,
        });
      }
    }
    picked.value = left;
    if (decided > 0) tell(words.bulkDone(decided));
  } catch (error) {
    complain(detailOf(error));
  }
}

function useInboxKeys(inbox: InboxState): void {
  const move = (by: number) => () => {
    const tasks = inbox.tasks();
    const at = tasks.findIndex(({ id }) => id === inbox.currentId());
    const next = tasks[Math.min(Math.max(at + by, 0), tasks.length - 1)];
    if (next !== undefined) select(next.id);
  };
  const current = () => inbox.tasks().find(({ id }) => id === inbox.currentId());
  const press = (act: string) => () =>
    document.querySelector<HTMLButtonElement>(`button[data-act="${act}"]`)?.click();
  /** Prepares a decision of the current task; with several selected, decides them. */
  const arm = (choose: (task: Task) => string | undefined) => () => {
    const chosen = inbox.tasks().filter(({ id }) => inbox.picked.value.has(id));
    const [task] = chosen.length > 0 ? chosen : [current()];
    const decision = task && choose(task);
    if (task === undefined || decision === undefined) return;
    if (chosen.length === 0) changeDraft(task, { armed: decision });
    else if (sharedDecisions(chosen).some(({ id }) => id === decision)) void decideMany(inbox, decision);
  };
  const offered = (id: string) => (task: Task) => task.decisions?.find((one) => one.id === id)?.id;
  const keys = {
    j: move(1),
    k: move(-1),
    ArrowDown: move(1),
    ArrowUp: move(-1),
    ']': move(1),
    '[': move(-1),
    a: arm(offered('approve')),
    r: arm(offered('reject')),
    ...Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [
        String(index + 1),
        arm((task) => task.decisions?.[index]?.id),
      ]),
    ),
    x: () => {
      const id = inbox.currentId();
      if (id === null) return;
      const picked = new Set(inbox.picked.value);
      if (!picked.delete(id)) picked.add(id);
      inbox.picked.value = picked;
    },
    c: press('claim'),
    d: press('delegate'),
    m: press('comment'),
    o: () => {
      const task = current();
      if (task?.can.includes('see_run')) navigate(runAddress(task.run_id));
    },
    'mod+Enter': press('armed'),
    Escape: () => {
      if (inbox.picked.value.size > 0) inbox.picked.value = new Set();
      else setQuery({ task: undefined });
    },
  };
  useKeys(keys, keyTexts(current()));
}

const ACTIONS = { claim: 'c', release: 'c', delegate: 'd', comment: 'm', see_run: 'o' } as const;

/** What keys do, in words: only what the task allows now. */
function keyTexts(task: Task | undefined): KeyTexts {
  const { always, can, prepare } = words.shortcuts;
  if (task === undefined) return always;
  const acts = Object.entries(ACTIONS).filter(([act]) => task.can.some((one) => one === act));
  const decisions = task.can.includes('decide') ? (task.decisions ?? []) : [];
  const letters: Readonly<Record<string, string>> = { approve: 'a', reject: 'r' };
  return {
    ...always,
    // `act` is a key of both.
    ...Object.fromEntries(acts.map(([act, key]) => [key, can[act as keyof typeof can]])),
    ...Object.fromEntries(
      decisions.slice(0, 9).flatMap((decision, index) => {
        const text = prepare(labelOf(decision));
        const letter = letters[decision.id];
        return [[String(index + 1), text], ...(letter === undefined ? [] : [[letter, text]])];
      }),
    ),
    ...(decisions.length > 0 ? { 'mod+Enter': words.shortcuts.send } : {}),
  };
}
