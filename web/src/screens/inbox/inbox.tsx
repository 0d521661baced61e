/** The first screen: what waits for me, and its decision beside it. */
import { computed, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import type { HumanTask } from '../../../../client/index.ts';
import { useKeys, type KeyTexts } from '../../app/keys.ts';
import { navigate, query, setQuery } from '../../app/router.ts';
import { runAddress, runsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { outbox } from '../../data/outbox.ts';
import { choices } from '../../data/preferences.ts';
import { cache } from '../../data/query.ts';
import { user } from '../../data/session.ts';
import { isNarrow } from '../../ui/narrow.ts';
import { useTitle } from '../../ui/title.ts';
import { tell } from '../../ui/toasts.tsx';
import {
  decide,
  decideMany,
  focusList,
  HELD_MS,
  lastDecided,
  select,
  takeAnswer,
  takeBack,
  type InboxState,
} from './deciding.ts';
import { changeDraft, disarm, draftOf } from './drafts.ts';
import css from './inbox.module.css';
import { TaskDetail } from './task-detail.tsx';
import { TaskList } from './task-list.tsx';
import {
  filterOf,
  isWhole,
  labelOf,
  sharedDecisions,
  showsTask,
  taskOrder,
  type Task,
  type TaskFilter,
} from './tasks.ts';
import { words } from './words.ts';

/** The first page is small, to be there soon. */
const FIRST_PAGE = 50;
const PAGE = 200;

export function Inbox() {
  useTitle(words.title);
  const filter = filterOf(query.value);
  const list = useMemo(() => taskList(filter), [JSON.stringify(filter)]);
  useEffect(() => list.open(), [list]);
  const picked = useSignal<ReadonlySet<string>>(new Set());
  const tasks = useMemo(() => {
    const shown = computed(() => {
      const sent = new Set(outbox.sending.value.map(({ taskId }) => taskId));
      return sent.size === 0 ? list.items.value : list.items.value.filter(({ id }) => !sent.has(id));
    });
    return () => shown.value;
  }, [list]);
  const currentId = () => query.value['task'] ?? (isNarrow.value ? null : (tasks()[0]?.id ?? null));
  const inbox = { list, tasks, picked, currentId };
  useEffect(() => outbox.onAnswer((sent, outcome) => takeAnswer(list, sent, outcome)), [list]);
  useInboxKeys(inbox);
  const selected = currentId();
  useEffect(() => readAhead(tasks(), selected), [selected, list.items.value]);
  useEffect(() => () => disarm(selected ?? ''), [selected]);
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
            onDecide={(task, decision, isTap) => decide(inbox, task, decision, isTap ? HELD_MS : 0)}
          />
        )}
      </section>
    </div>
  );
}

function taskList(filter: TaskFilter): LiveList<Task> {
  const { scope, overdue, claimed, team, sort, q } = filter;
  return new LiveList<Task>({
    key: ['tasks', scope, String(overdue), claimed ?? '', team, sort, q],
    kind: 'task',
    matchedByServer: q !== '',
    shows: (task) => showsTask(filter, task, { userId: user.value?.id ?? '', nowMs: Date.now() }),
    compare: taskOrder(sort),
    read: (cursor) =>
      client.page('listHumanTasks', {
        query: {
          scope,
          view: 'summary',
          limit: cursor === null ? FIRST_PAGE : PAGE,
          sort,
          ...(overdue ? { overdue } : {}),
          ...(claimed === null ? {} : { claimed_by: claimed }),
          ...(team === '' ? {} : { team_id: team }),
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

function useInboxKeys(inbox: InboxState): void {
  const move = (by: number) => () => {
    const tasks = inbox.tasks();
    const at = tasks.findIndex(({ id }) => id === inbox.currentId());
    const next = tasks[Math.min(Math.max(at + by, 0), tasks.length - 1)];
    if (next !== undefined) select(next.id);
  };
  const current = () => currentTask(inbox);
  const press = (act: string) => () =>
    document.querySelector<HTMLButtonElement>(`button[data-act="${act}"]`)?.click();
  const keys = {
    j: move(1),
    k: move(-1),
    ArrowDown: move(1),
    ArrowUp: move(-1),
    ']': move(1),
    '[': move(-1),
    ...decisionKeys(inbox),
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
    o: () => openRun(shownTask(inbox)),
    z: () => {
      const held = outbox.lastHeld();
      if (held !== undefined) takeBack(held.key, held.taskId);
    },
    'mod+Enter': press('armed'),
    Escape: () => {
      const task = current();
      if (task !== undefined && draftOf(task).armed !== null) {
        changeDraft(task, { armed: null });
        focusList();
      } else if (inbox.picked.value.size > 0) inbox.picked.value = new Set();
      else setQuery({ task: undefined });
    },
  };
  useKeys(keys, keyTexts(shownTask(inbox)));
}

/** Without a task: the run that was decided last, or all runs. */
function openRun(task: Task | undefined): void {
  if (task === undefined) navigate(lastDecided.value?.link.href ?? runsAddress());
  else if (task.can.includes('see_run')) navigate(runAddress(task.run_id));
  else tell(words.noRun);
}

function currentTask(inbox: InboxState): Task | undefined {
  return inbox.tasks().find(({ id }) => id === inbox.currentId());
}

/** Also one that is no longer in the list, such as a decided one. */
function shownTask(inbox: InboxState): Task | undefined {
  return currentTask(inbox) ?? cache.getQueryData<HumanTask>(['task', inbox.currentId() ?? '']);
}

/** `a`, `r` and the digits. */
function decisionKeys(inbox: InboxState) {
  /** Prepares a decision of the current task; with several selected, decides them. */
  const arm = (choose: (task: Task) => string | undefined) => () => {
    const chosen = inbox.tasks().filter(({ id }) => inbox.picked.value.has(id));
    const [task] = chosen.length > 0 ? chosen : [currentTask(inbox)];
    const decision = task && choose(task);
    if (task === undefined || decision === undefined) return;
    const whole = isWhole(task) ? task : cache.getQueryData<HumanTask>(['task', task.id]);
    const isQuick = choices.value.decides === 'one_key' && task.can.includes('decide');
    if (chosen.length === 0 && isQuick && whole !== undefined) decide(inbox, whole, decision, HELD_MS);
    else if (chosen.length === 0) changeDraft(task, { armed: decision });
    else if (sharedDecisions(chosen).some(({ id }) => id === decision)) void decideMany(inbox, decision);
  };
  const offered = (id: string) => (task: Task) => task.decisions?.find((one) => one.id === id)?.id;
  return {
    a: arm(offered('approve')),
    r: arm(offered('reject')),
    ...Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [
        String(index + 1),
        arm((task) => task.decisions?.[index]?.id),
      ]),
    ),
  };
}

const ACTIONS = { claim: 'c', release: 'c', delegate: 'd', comment: 'm', see_run: 'o' } as const;

/** What keys do, in words: only what the task allows now. */
function keyTexts(task: Task | undefined): KeyTexts {
  const { can, prepare } = words.shortcuts;
  const isQuick = choices.value.decides === 'one_key';
  const always = { ...words.shortcuts.always, ...(isQuick ? { z: words.takeBack } : {}) };
  if (task === undefined) return { ...always, o: words.shortcuts.last };
  const acts = Object.entries(ACTIONS).filter(([act]) => task.can.some((one) => one === act));
  const decisions = task.can.includes('decide') ? (task.decisions ?? []) : [];
  const letters: Readonly<Record<string, string>> = { approve: 'a', reject: 'r' };
  return {
    ...always,
    // `act` is a key of both.
    ...Object.fromEntries(acts.map(([act, key]) => [key, can[act as keyof typeof can]])),
    ...Object.fromEntries(
      decisions.slice(0, 9).flatMap((decision, index) => {
        const text = isQuick ? labelOf(decision) : prepare(labelOf(decision));
        const letter = letters[decision.id];
        return [[String(index + 1), text], ...(letter === undefined ? [] : [[letter, text]])];
      }),
    ),
    ...(decisions.length > 0 ? { 'mod+Enter': words.shortcuts.send } : {}),
  };
}
