/** Decisions of the inbox: they leave the list at once, and come back with a reason if they are refused. */
import { batch, signal } from '@preact/signals';

import type { ApiError, HumanTask } from '../../../../client/index.ts';
import { navigate, query, setQuery } from '../../app/router.ts';
import { inboxAddress, runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import type { LiveList } from '../../data/live-list.ts';
import { outbox, type Outcome, type Sending } from '../../data/outbox.ts';
import { readPersonName } from '../../data/people.ts';
import { cache } from '../../data/query.ts';
import { randomKey } from '../../data/random-key.ts';
import { whenUserLeaves } from '../../data/session.ts';
import { nowMs } from '../../ui/clock.ts';
import { focusDrawn, INVALID } from '../../ui/focus.ts';
import { isNarrow } from '../../ui/narrow.ts';
import { detailOf } from '../../ui/problem.tsx';
import { isCheckLoaded, loadCheck } from '../../ui/schema-form/form-check.ts';
import { relativeTime } from '../../ui/time.ts';
import { complain, offer, tell } from '../../ui/toasts.tsx';
import { changeDraft, draftOf, dropDraft, setProblems } from './drafts.ts';
import { asksForm, prepareDecision } from './prepare.ts';
import { decisionLabel, neighbourOf, type Task } from './tasks.ts';
import { words } from './words.ts';

export interface InboxState {
  list: LiveList<Task>;
  /** What is shown: without tasks whose decision is on its way. */
  tasks: () => readonly Task[];
  picked: { value: ReadonlySet<string> };
  currentId: () => string | null;
}

interface Decided {
  title: string;
  label: string;
  /** Its run; the task itself for those who may not see the run. */
  link: { href: string; text: string };
}

/** What was decided here last; null before the first decision. */
export const lastDecided = signal<Decided | null>(null);

whenUserLeaves(() => (lastDecided.value = null));

export function select(id: string | null): void {
  setQuery({ task: id ?? undefined }, 'replace');
}

/** As drawn after what the caller has just changed: an empty list has nothing to focus. */
export function focusList(): void {
  queueMicrotask(() => {
    const list = document.querySelector<HTMLElement>('[role=listbox]') ?? document.getElementById('main');
    list?.focus();
  });
}

/** Sends a decision, or shows what is wrong with it. The next task is on the screen at once. */
export function decide(inbox: InboxState, task: Task, decision: string, heldMs = 0): void {
  // Usually it was loaded when the form was shown.
  if (asksForm(task, decision) && !isCheckLoaded())
    void loadCheck().then(() => send(inbox, task, decision, heldMs));
  else send(inbox, task, decision, heldMs);
}

function send(inbox: InboxState, task: Task, decision: string, heldMs: number): void {
  const { body, problems } = prepareDecision(task, decision, draftOf(task));
  changeDraft(task, { problems });
  if (problems.length > 0) {
    focusDrawn(INVALID);
    return;
  }
  const next = neighbourOf(inbox.tasks(), task.id);
  const follows = inbox.tasks().some(({ id }) => id === task.id) && !isNarrow.value;
  batch(() => {
    const key = outbox.add(task, body, heldMs);
    if (heldMs > 0) offerBack(task, decision, key);
    if (follows) select(next);
    else navigate(inboxAddress({ ...query.value, task: undefined }));
  });
  focusList();
}

/** A decision that one key or one tap has made can be taken back before it is sent. */
export const HELD_MS = 5_000;

/** What closes the note of each decision that is held. */
const offered = new Map<string, () => void>();

function offerBack(task: Task, decision: string, key: string): void {
  const act = () => {
    if (!takeBack(key, task.id)) complain(words.tooLate(task.title));
  };
  offered.set(
    key,
    offer(words.held(task.title, decisionLabel(task, decision)), { text: words.takeBack, act }, HELD_MS),
  );
  setTimeout(() => offered.delete(key), HELD_MS);
}

export function takeBack(key: string, taskId: string): boolean {
  const isBack = outbox.takeBack(key);
  offered.get(key)?.();
  if (isBack) select(taskId);
  return isBack;
}

export function takeAnswer(
  list: LiveList<Task>,
  { key, taskId, title, body }: Sending,
  outcome: Outcome,
): void {
  offered.get(key)?.();
  if (outcome !== 'changed' && 'task' in outcome) {
    const { task } = outcome;
    dropDraft(taskId);
    cache.setQueryData(['task', taskId], task);
    list.put(task);
    const label = decisionLabel(task, body.decision);
    const link = linkAfter(task);
    lastDecided.value = { title, label, link };
    tell((task.decision === null ? words.voted : words.sent)(title, label), link);
    return;
  }
  void cache.invalidateQueries({ queryKey: ['task', taskId] });
  if (outcome === 'changed') {
    refuse(taskId, title, words.changed);
    return;
  }
  setProblems(taskId, outcome.error.errors);
  void reasonOf(outcome.error).then((reason) => refuse(taskId, title, reason));
}

/** Where one sees what comes of a decision. */
function linkAfter({ id, run_id: runId, can }: HumanTask): Decided['link'] {
  return can.includes('see_run')
    ? { href: runAddress(runId), text: words.openRun }
    : { href: inboxAddress({ ...query.value, task: id }), text: words.openDecided };
}

function refuse(taskId: string, title: string, reason: string): void {
  complain(words.refused(title, reason), {
    href: inboxAddress({ ...query.value, task: taskId }),
    text: words.openTask,
  });
}

/** A refusal because somebody was quicker names them, and what they decided. */
async function reasonOf(error: ApiError): Promise<string> {
  const winner = error.problem['decision'] as HumanTask['decision'] | undefined;
  if (error.status !== 409 || !winner) return error.detail;
  const { decided_by: by, decision, decided_at: at } = winner;
  return words.decidedFirst(await readPersonName(by), decision, relativeTime(at, nowMs.value));
}

/** As many decisions as one request takes. */
const MAX_DECISIONS = 100;
let isDecidingMany = false;

export async function decideMany({ list, tasks, picked }: InboxState, decision: string): Promise<void> {
  if (isDecidingMany) return;
  isDecidingMany = true;
  const chosen = tasks().filter(({ id }) => picked.value.has(id));
  // The buttons vanish with the selection.
  focusList();
  let decided = 0;
  try {
    for (let at = 0; at < chosen.length; at += MAX_DECISIONS) {
      const part = chosen.slice(at, at + MAX_DECISIONS);
      const { results } = await client.call('decideHumanTasks', {
        body: { decisions: part.map(({ id }) => ({ task_id: id, decision })) },
        idempotencyKey: randomKey(),
      });
      const done = results.filter(({ problem }) => problem === undefined);
      const left = new Set(picked.value);
      for (const { task_id: id } of done) left.delete(id);
      picked.value = left;
      decided += done.length;
      for (const { task_id: id, task, problem } of results) {
        if (task !== undefined) list.put(task);
        if (problem !== undefined)
          refuse(id, chosen.find((one) => one.id === id)?.title ?? id, problem.detail);
      }
    }
  } catch (error) {
    complain(detailOf(error));
  } finally {
    isDecidingMany = false;
    if (decided > 0) tell(words.bulkDone(decided));
  }
}
