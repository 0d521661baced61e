/**
 * The rows of human tasks with their details, as the services read them. Keys are column names; times are RFC
 * 3339 in UTC.
 */
import {
  isLarge,
  listedColumns,
  VIEW_FIELD_BYTES,
  type ListedColumn,
  type ListView,
} from '../../db/large-fields.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import {
  MAX_TITLE,
  UNDECIDED,
  type Candidates,
  type ContextEntry,
  type DecisionOption,
  type Delegate,
  type HumanAnswer,
  type HumanTaskRequest,
  type TaskStatus,
} from '../../contracts/hitl.ts';
import type { Actor } from '../auth/actor.ts';
import type { RunStatus } from '../../contracts/run-events.ts';

export interface HumanTask extends Omit<HumanTaskRequest, 'decision_links'> {
  workflow_id: string | null;
  workflow_name: string;
  owner_id: string;
  /** Of the run's workflow. */
  team_id: string | null;
  /** The run's owner started it as a runner. */
  by_grant: boolean;
  /** Whether everybody sees the run's workflow. */
  is_public: boolean;
  /** The root run's owner when the task was created. */
  initiator_id: string;
  /** Everyone who took part in starting the run: docs/human-tasks.md#initiators. */
  initiator_ids: string[];
  /** Null without `context` in the definition, and in lists. */
  context: ContextEntry[] | null;
  status: TaskStatus;
  assignee_key: string | null;
  principals: string[];
  claimed_by: string | null;
  claimed_at: string | null;
  escalation_level: number;
  delegate: Delegate;
  /** Who may not decide although they are candidates, as principals of principals.ts. */
  excluded: string[];
  /** It may be decided by a link without a log-in, if the operator allows it. */
  decision_links: boolean;
  /** Who gave up their vote, as a principal of principals.ts, with the id of the recipient. */
  delegations: Record<string, string>;
  /**
   * How people came to the task who gave or got a vote, by id: as a `candidate` by a role, group or team,
   * which counts while they have that, or by a delegation alone (`free`). Those whom the task names are not
   * in it.
   */
  delegates: Record<string, 'candidate' | 'free'>;
  /**
   * Ids of the claimant and of those who got a vote, if they can decide the task no more: they hold nothing.
   * None of a task that is over.
   */
  lapsed: string[];
  run_status: RunStatus;
  /** Whether the task is past its expiry, by the database's clock. */
  late: boolean;
  created_at: string;
  updated_at: string;
  /** Version of the row; changes with every update. */
  row_version: string;
}

/** `delivered`: whether the run has received it; null for a vote that did not decide. */
export interface Decision extends HumanAnswer {
  id: string;
  decided_by: string;
  delivered: boolean | null;
}

export interface Comment {
  id: string;
  comment: string;
  created_by: string;
  created_at: string;
}

/** Whoever sees a task, with the absent people whose deputy they are. */
type Viewer = Pick<Actor, 'id' | 'deputyFor'>;

type Tally = Record<string, number>;

interface Vote {
  decision: string;
  comment: string | null;
  /** RFC 3339. */
  voted_at: string;
}

/** A task with everything that its record shows. */
export interface HumanTaskView extends HumanTask {
  tally: Tally | null;
  /** The viewer's own vote. */
  my_vote: Vote | null;
  assignee_voted: boolean;
  /** Of the viewer and the absent people whose deputy they are: who counts as having voted. */
  represented: string[];
  comments: Comment[];
  decision: Decision | null;
  /** In a list: the names of the omitted fields. */
  omitted?: string[];
  /** In a list: to the microsecond. */
  exact_due_at?: string | null;
}

/** A task's record includes only the latest comments. */
const COMMENTS_SHOWN = 100;

/** SQL: whether the user can decide the task `t`, as far as that depends on them. */
export function mayActOnTask(user: string): string {
  return `may_act_on_task(${user}, t.principals, t.delegates, t.team_id, t.excluded)`;
}

/** SQL: whether the user has voted on the task `t`, also through a deputy. */
export function hasVotedOnTask(user: string): string {
  return `exists (select from hitl_vote v where v.task_id = t.id and ${user} in (v.voted_by, v.in_place_of))`;
}

const LAPSED_PEOPLE =
  'lapsed_people(t.claimed_by, t.delegations, t.principals, t.delegates, t.team_id, t.excluded)';

/** Who has voted keeps what they got: their vote stays, so it is not back with who gave it. */
const LAPSED = `case
  when t.claimed_by is null and t.delegations = '{}' or not ${isOneOf('t.status', UNDECIDED)} then '[]'
  when t.quorum is null then ${LAPSED_PEOPLE}
  else without_voters(t.id, ${LAPSED_PEOPLE}) end`;

// `is_public` is no `exists`, for which a list could read all workflows at once.
const smallColumns = (
  title: string,
): string => `t.id, t.run_id, t.workflow_id, t.workflow_name, t.owner_id, t.team_id, t.by_grant,
  coalesce((select w.visibility = 'public' from workflow w where w.id = t.workflow_id), false) as is_public,
  t.initiator_id, to_json(t.initiator_ids) as initiator_ids, t.task, t.task_name, ${title},
  t.status, t.priority, t.assignee, t.assignee_key,
  to_json(t.principals) as principals, t.claimed_by,
  ${iso('t.claimed_at')} as claimed_at, ${iso('t.due_at')} as due_at,
  ${iso('t.expires_at')} as expires_at, t.escalation_level, t.quorum,
  t.delegate, t.delegations, t.delegates, ${LAPSED} as lapsed, to_json(t.excluded) as excluded,
  t.decision_links,
  (select r.status from run r where r.id = t.run_id) as run_status,
  coalesce(t.expires_at <= clock_timestamp(), false) as late,
  ${iso('t.created_at')} as created_at, ${iso('t.updated_at')} as updated_at,
  t.xmin::text as row_version`;

/** The columns without a size limit. */
const SIZED: ListedColumn[] = [
  ...['description', 'subject', 'form_schema', 'decisions', 'candidates'].map((name) => ({
    name,
    column: `t.${name}`,
  })),
  { name: 'context', column: 't.context', isNeverListed: true },
];

export const TASK_COLUMNS = `${smallColumns('t.title')}, ${SIZED.map(({ column }) => column).join(', ')}`;

/** For lists: large fields are null and named in `omitted`. */
export function listedTaskColumns(view: ListView | undefined): string {
  const small = smallColumns(`left(t.title, ${MAX_TITLE}) as title`);
  return `${small}, ${listedColumns(SIZED, { view })},
    to_char(t.due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact_due_at`;
}

const DECISION_COLUMNS = `d.id, d.task_id, d.decision, d.payload, d.comment, d.decided_by,
  ${iso('d.decided_at')} as decided_at,
  (d.delivered_at is not null or d.received_at is not null) as delivered`;

/** SQL: a time as RFC 3339 in UTC, to the millisecond. */
export function iso(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

const TASK = new Prepared(`select ${TASK_COLUMNS} from hitl_task t where t.id = ?`);

export async function findTask(em: EntityManager, id: string): Promise<HumanTask | null> {
  const [row] = await TASK.execute<HumanTask>(em, [id]);
  return row ?? null;
}

/** Adds decisions, votes and comments as the viewer sees them, with one query each for all tasks. */
export async function withDetails(
  em: EntityManager,
  viewer: Viewer,
  tasks: HumanTask[],
): Promise<HumanTaskView[]> {
  const comments = await readComments(
    em,
    tasks.map((task) => task.id),
  );
  const decisionAndVotes = await readDecisionsAndVotes(em, viewer, tasks);
  return tasks.map((task) => ({
    ...task,
    ...decisionAndVotes(task),
    comments: comments.get(task.id) ?? [],
  }));
}

type TaskWithVotes = Pick<HumanTask, 'id' | 'quorum' | 'decisions'>;
type DecisionAndVotes = Pick<
  HumanTaskView,
  'tally' | 'my_vote' | 'assignee_voted' | 'represented' | 'decision'
>;

/** @param without tasks whose decisions are not read */
async function readDecisionsAndVotes(
  em: EntityManager,
  viewer: Viewer,
  tasks: readonly Pick<HumanTask, 'id' | 'status' | 'quorum'>[],
  without: ReadonlySet<string> = new Set(),
): Promise<(task: TaskWithVotes) => DecisionAndVotes> {
  const decided = tasks.filter(({ id, status }) => status === 'decided' && !without.has(id));
  const voting = tasks.filter((task) => task.quorum !== null);
  const decisions = await findDecisions(
    em,
    decided.map(({ id }) => id),
  );
  const votes = await readVotes(
    em,
    viewer,
    voting.map(({ id }) => id),
  );
  return ({ id: taskId, quorum, decisions: options }) => {
    const found = votes.get(taskId);
    return {
      tally: quorum && Object.fromEntries(options.map(({ id }) => [id, found?.tally[id] ?? 0])),
      my_vote: found?.mine ?? null,
      assignee_voted: found?.assigneeVoted ?? false,
      represented: found?.represented ?? [],
      decision: decisions.get(taskId) ?? null,
    };
  };
}

export async function findDecisions(em: EntityManager, taskIds: string[]): Promise<Map<string, Decision>> {
  if (taskIds.length === 0) return new Map();
  const rows = await em.execute<(Decision & { task_id: string })[]>(
    `select ${DECISION_COLUMNS} from hitl_decision d where d.task_id = any(?::uuid[])`,
    [arrayLiteral(taskIds)],
  );
  return new Map(rows.map(({ task_id, ...decision }) => [task_id, decision]));
}

interface Votes {
  tally: Tally;
  mine: Vote | null;
  assigneeVoted: boolean;
  represented: string[];
}

async function readVotes(em: EntityManager, viewer: Viewer, taskIds: string[]): Promise<Map<string, Votes>> {
  if (taskIds.length === 0) return new Map();
  const rows = await em.execute<
    { task_id: string; tally: Tally; mine: Vote | null; assignee_voted: boolean; voters: string[] }[]
  >(
    `select task_id, json_object_agg(decision, votes) as tally,
            (json_agg(mine) filter (where mine is not null)) -> 0 as mine,
            bool_or(assignee_voted) as assignee_voted,
            (select coalesce(json_agg(p.id), '[]') from unnest(?::uuid[]) as p (id)
              where exists (select from hitl_vote v
                             where v.task_id = words.task_id
                               and (v.voted_by = p.id or v.in_place_of = p.id))) as voters
       from (select v.task_id, v.decision, count(*) as votes,
                    bool_or(t.assignee_key in ('id:' || v.voted_by, 'id:' || v.in_place_of))
                      as assignee_voted,
                    (json_agg(json_build_object('decision', v.decision, 'comment', v.comment,
                                                'voted_at', ${iso('v.voted_at')}))
                       filter (where v.voted_by = ?::uuid)) -> 0 as mine
               from hitl_vote v join hitl_task t on t.id = v.task_id where v.task_id = any(?::uuid[])
              group by v.task_id, v.decision) words
      group by task_id`,
    [
      arrayLiteral([viewer.id, ...(viewer.deputyFor ?? []).map(({ id }) => id)]),
      viewer.id,
      arrayLiteral(taskIds),
    ],
  );
  return new Map(
    rows.map(({ task_id, tally, mine, assignee_voted: assigneeVoted, voters: represented }) => [
      task_id,
      { tally, mine, assigneeVoted: assigneeVoted ?? false, represented },
    ]),
  );
}

/** SQL: the comments that the record of the task `t` shows. */
export const COMMENTS_OF_TASK = `
  select c.id, c.comment, c.created_by, ${iso('c.created_at')} as created_at
    from hitl_comment c where c.task_id = t.id order by c.id desc limit ${COMMENTS_SHOWN}`;

const COMMENTS = new Prepared(
  `select c.task_id, c.id, c.comment, c.created_by, ${iso('c.created_at')} as created_at
     from unnest(?::uuid[]) as wanted (id)
     cross join lateral (select * from hitl_comment where task_id = wanted.id order by id desc limit ?) c
    order by c.task_id, c.id`,
);

async function readComments(em: EntityManager, taskIds: string[]): Promise<Map<string, Comment[]>> {
  if (taskIds.length === 0) return new Map();
  const rows = await COMMENTS.execute<Comment & { task_id: string }>(em, [
    arrayLiteral(taskIds),
    COMMENTS_SHOWN,
  ]);
  const byTask = new Map<string, Comment[]>();
  for (const { task_id, ...comment } of rows) {
    const known = byTask.get(task_id);
    if (known) known.push(comment);
    else byTask.set(task_id, [comment]);
  }
  return byTask;
}

/**
 * Like `withDetails`, for rows of `listedTaskColumns`. Large comments and decisions are omitted without
 * being read.
 */
export async function withListedDetails(
  em: EntityManager,
  viewer: Viewer,
  rows: readonly ListedTaskRow[],
  view: ListView = 'full',
): Promise<HumanTaskView[]> {
  const details = await readListedDetails(
    em,
    rows.map(({ id }) => id),
    view,
  );
  const omittedOf = ({ id, omitted, quorum }: ListedTaskRow): string[] => [
    ...omitted,
    ...(omitted.includes('decisions') && quorum !== null ? ['tally'] : []),
    ...(details.get(id)?.large ?? []),
  ];
  const withoutDecision = [...details].filter(([, { large }]) => large.includes('decision'));
  const without = new Set(withoutDecision.map(([id]) => id));
  const decisionAndVotes = await readDecisionsAndVotes(em, viewer, rows, without);
  return rows.map((row) => {
    const decisions = row.decisions ?? [];
    return {
      ...row,
      ...decisionAndVotes({ id: row.id, quorum: row.quorum, decisions }),
      decisions,
      candidates: row.candidates ?? NOBODY,
      comments: details.get(row.id)?.comments ?? [],
      omitted: omittedOf(row),
    };
  });
}

type LargeDetail = 'comments' | 'decision';

export type ListedTaskRow = Omit<HumanTask, 'decisions' | 'candidates'> & {
  decisions: DecisionOption[] | null;
  candidates: Candidates | null;
  omitted: string[];
  exact_due_at: string | null;
};

const NOBODY: Candidates = { users: [], roles: [], groups: [] };

interface ListedDetails {
  /** What is too large for a list. */
  large: LargeDetail[];
  /** Null if there are none, or if they are large together. */
  comments: Comment[] | null;
}

const LISTED_DETAILS: Readonly<Record<ListView, Prepared>> = {
  full: listedDetails(VIEW_FIELD_BYTES.full),
  summary: listedDetails(VIEW_FIELD_BYTES.summary),
};

/** Sizes are checked before anything is read. */
function listedDetails(bytes: number): Prepared {
  return new Prepared(
    `select t.id, to_json(array_remove(array[
              case when size.bytes > ${bytes} then 'comments' end,
              case when exists (select from hitl_decision d
                                 where d.task_id = t.id
                                   and (${isLarge('d.payload', bytes)} or ${isLarge('d.comment', bytes)}))
                   then 'decision' end
            ], null)) as large,
            case when size.bytes <= ${bytes} then
              (select json_agg(c order by c.id) from (${COMMENTS_OF_TASK}) c) end as comments
       from unnest(?::uuid[]) as t (id)
       cross join lateral
         (select sum(octet_length(latest.comment)) as bytes
            from (select c.comment from hitl_comment c
                   where c.task_id = t.id order by c.id desc limit ${COMMENTS_SHOWN}) latest) size`,
  );
}

async function readListedDetails(
  em: EntityManager,
  taskIds: string[],
  view: ListView,
): Promise<Map<string, ListedDetails>> {
  if (taskIds.length === 0) return new Map();
  const rows = await LISTED_DETAILS[view].execute<ListedDetails & { id: string }>(em, [
    arrayLiteral(taskIds),
  ]);
  return new Map(rows.map(({ id, ...found }) => [id, found]));
}
