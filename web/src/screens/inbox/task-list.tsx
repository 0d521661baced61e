import { navigate, query, setQuery } from '../../app/router.ts';
import { inboxAddress, runsAddress } from '../../app/routes.ts';
import type { LiveList } from '../../data/live-list.ts';
import { SavedViews } from '../../app/saved-views.tsx';
import { personName } from '../../data/people.ts';
import { choices } from '../../data/preferences.ts';
import { user } from '../../data/session.ts';
import { nowMs } from '../../ui/clock.ts';
import { density } from '../../ui/density.ts';
import { Check, Choice, SearchField } from '../../ui/filters.tsx';
import { useLate } from '../../ui/late.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { StatusMark } from '../../ui/status.tsx';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { relativeTime, roundLength } from '../../ui/time.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { lastDecided } from './deciding.ts';
import css from './inbox.module.css';
import {
  decisionKey,
  isFiltered,
  isOverdue,
  labelOf,
  sharedDecisions,
  SORTS,
  type Task,
  type TaskFilter,
} from './tasks.ts';
import { words } from './words.ts';

interface Props {
  filter: TaskFilter;
  list: LiveList<Task>;
  tasks: readonly Task[];
  currentId: string | null;
  picked: ReadonlySet<string>;
  onBulk: (decision: string) => void;
  onClearPicked: () => void;
}

const ROW = 56;
const rowId = (id: string) => `task-${id}`;

export function TaskList(props: Props) {
  const { list, tasks, currentId, picked } = props;
  const chosen = tasks.filter(({ id }) => picked.has(id));
  return (
    <div class={css['list']}>
      <Filters filter={props.filter} />
      {chosen.length > 0 && (
        <div class={css['bulk']} role="toolbar" aria-label={words.selected(chosen.length)}>
          <span>{words.selected(chosen.length)}</span>
          {sharedDecisions(chosen).map(({ id, label }) => (
            <button key={id} type="button" onClick={() => props.onBulk(id)}>
              {labelOf({ label })} <KeyOf name={decisionKey(id)} />
            </button>
          ))}
          <button type="button" class="plain" onClick={props.onClearPicked}>
            {words.clearSelection}
          </button>
        </div>
      )}
      <ListState {...props} />
      {tasks.length > 0 && (
        <VirtualList
          items={tasks}
          rowHeight={ROW * density.value}
          current={tasks.findIndex(({ id }) => id === currentId)}
          label={words.list}
          role="listbox"
          activeId={currentId === null ? undefined : rowId(currentId)}
          onEnd={() => void list.more()}
          row={(task, index) => (
            <Row
              key={task.id}
              task={task}
              position={index + 1}
              count={list.hasMore.value ? -1 : tasks.length}
              isCurrent={task.id === currentId}
              isPicked={picked.has(task.id)}
            />
          )}
        />
      )}
      {tasks.length > 0 && list.error.value !== null && (
        <ProblemText
          error={list.error.value}
          retry={() => void (list.hasMore.value ? list.more() : list.reload())}
        />
      )}
      <Footer count={words.count(tasks.length, list.hasMore.value)} />
    </div>
  );
}

function Footer({ count }: { count: string }) {
  return (
    <footer class={css['footer']}>
      <span class={css['hints']} aria-hidden="true">
        {words.keys(choices.value.decides === 'one_key').map((entry) => (
          <span key={entry[0]}>
            {entry.slice(0, -1).map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}{' '}
            {entry.at(-1)}
          </span>
        ))}
      </span>
      <span class="number">{count}</span>
    </footer>
  );
}

function Filters({ filter }: { filter: TaskFilter }) {
  return (
    <search class={css['filters']}>
      <SearchField label={words.search} value={filter.q} />
      <SavedViews list="inbox" />
      <Choice
        name="scope"
        label={words.scope}
        value={filter.scope}
        standard="mine"
        options={Object.entries(words.scopes)}
      />
      <TeamFilter all={words.anyTeam} />
      <Choice
        name="sort"
        label={words.sort}
        value={filter.sort}
        standard="priority"
        options={SORTS.map((sort) => [sort, words.sorts[sort]])}
      />
      <Check
        class={css['check']}
        name="overdue"
        value="true"
        isOn={filter.overdue}
        text={words.overdueOnly}
      />
      <Check
        class={css['check']}
        name="claimed"
        value="me"
        isOn={filter.claimed !== null}
        text={words.claimedOnly}
      />
    </search>
  );
}

/** Loading, empty or failed, in place of rows. */
function ListState({ filter, list, tasks }: Props) {
  const isLoading = !list.isLoaded.value && list.error.value === null;
  const showsSkeleton = useLate(isLoading);
  if (list.error.value !== null && tasks.length === 0)
    return (
      <div class={css['state']}>
        <ProblemText error={list.error.value} retry={() => void list.reload()} />
      </div>
    );
  if (isLoading)
    return (
      <div class={css['skeletons']} aria-busy="true">
        {showsSkeleton &&
          Array.from({ length: 8 }, (_, index) => <div key={index} class={css['skeleton']} />)}
      </div>
    );
  if (tasks.length > 0) return null;
  return (
    <div class={css['state']}>
      <p>{isFiltered(filter) ? words.filteredEmpty : words.empty}</p>
      <Last />
      {isFiltered(filter) && (
        <button type="button" onClick={() => navigate(inboxAddress({ sort: query.value['sort'] }))}>
          {words.clear}
        </button>
      )}
    </div>
  );
}

/** The way on from an empty inbox. */
function Last() {
  const last = lastDecided.value;
  return (
    <p>
      {last !== null && `${words.last(last.title, last.label)} `}
      <a href={last?.link.href ?? runsAddress()}>{last?.link.text ?? words.allRuns}</a>{' '}
      <kbd aria-hidden="true">o</kbd>
    </p>
  );
}

interface RowProps {
  task: Task;
  position: number;
  /** -1 while there are more pages. */
  count: number;
  isCurrent: boolean;
  isPicked: boolean;
}

function Row({ task, position, count, isCurrent, isPicked }: RowProps) {
  return (
    // The list has the focus and the keys; a click is the mouse's way to the same.
    <div
      id={rowId(task.id)}
      class={css['row']}
      role="option"
      aria-selected={isCurrent}
      aria-posinset={position}
      aria-setsize={count}
      data-picked={isPicked}
      onClick={() => setQuery({ task: task.id }, query.value['task'] === undefined ? 'push' : 'replace')}
    >
      <StatusMark status={task.status === 'claimed' ? 'claimed' : 'open'} />
      <span class={css['title']}>{task.title}</span>
      <span class={css['mark']}>{importance(task.priority)}</span>
      <span class={css['sub']}>
        {isPicked && <span class={css['picked']}>{words.picked} · </span>}
        {task.workflow_name}
        {votesOf(task)}
        {task.claimed_by !== null && ` · ${claimText(task.claimed_by)}`}
      </span>
      <Deadline task={task} />
    </div>
  );
}

export function claimText(by: string): string {
  return by === user.value?.id ? words.claimedByMe : words.claimedBy(personName(by));
}

const HIGH = 70;
const LOW = 30;

function importance(priority: number): string {
  return priority >= HIGH ? words.high : priority < LOW ? words.low : '';
}

function votesOf({ quorum, tally }: Task): string {
  if (quorum === null) return '';
  return ` · ${words.votes(tally?.['approve'] ?? 0, quorum.approvals)}`;
}

function Deadline({ task }: { task: Task }) {
  if (task.due_at === null)
    return <span class={css['when']}>{relativeTime(task.created_at, nowMs.value)}</span>;
  const isLate = isOverdue(task, nowMs.value);
  return (
    <span class={`${css['when']} ${isLate ? css['late'] : ''}`}>
      {isLate
        ? words.late(roundLength(Date.parse(task.due_at) - nowMs.value))
        : relativeTime(task.due_at, nowMs.value)}
    </span>
  );
}

export function KeyOf({ name }: { name: string | null }) {
  return name === null ? null : <kbd aria-hidden="true">{name}</kbd>;
}
