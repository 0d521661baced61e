/**
 * Decides a human task, or votes on it, by one read and one statement that is a transaction of its own (SQL
 * function `decide_at_once`). The statement takes the locks and writes only if the task is still the one that
 * was read. All else is left to `decide`: whatever is refused because of the state or the content, tasks that
 * somebody else changes at the same time, and requests that are repeated.
 */
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../contracts/is-record.ts';
import { isTerminal } from '../../contracts/run-events.ts';
import type { HumanAnswer } from '../../contracts/hitl.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { ABSENT_PEOPLE, asDeputy } from '../auth/absences.ts';
import type { AbsentPerson, Actor } from '../auth/actor.ts';
import { notFound, type Checked } from '../errors.ts';
import { fileIdsIn } from '../files/run-files.ts';
import type { AnswerKept } from '../runs/signals.ts';
import { traceOfDecision } from '../runs/traces.ts';
import { DECIDED, type Decided } from './decide.ts';
import {
  decisionRecord,
  decisionRow,
  decisionSignal,
  newDecision,
  voteChange,
  type Acting,
} from './decision-rows.ts';
import {
  COMMENTS_OF_TASK,
  iso,
  TASK_COLUMNS,
  type Comment,
  type Decision,
  type HumanTask,
  type HumanTaskView,
} from './human-task.ts';
import { recordOf, type Caller } from './locked-task.ts';
import { heldState } from './held-state.ts';
import { checkMayAct, checkSees } from './policy.ts';
import { takesOver } from './take-over.ts';
import { step, type TaskState } from './state-machine.ts';
import { checkSubmission, type Submission } from './submission.ts';

interface Vote extends HumanAnswer {
  decided_by: string;
  /** The absent person in whose place somebody voted. */
  also: string | null;
}

interface Read extends HumanTask {
  /** The database's time, RFC 3339. */
  now: string;
  absent: AbsentPerson[];
  votes: Vote[] | null;
  comments: Comment[];
}

/** Everything that the checks, the statement and the answer need. */
const READ = new Prepared(
  `select ${TASK_COLUMNS}, ${iso('clock_timestamp()')} as now,
          (select coalesce(json_agg(p), '[]') from (${ABSENT_PEOPLE}) p) as absent,
          (select coalesce(json_agg(c order by c.id), '[]') from (${COMMENTS_OF_TASK}) c) as comments,
          case when t.quorum is not null then
            (select coalesce(json_agg(v), '[]')
               from (select v.decision, v.payload, v.comment, v.voted_by as decided_by,
                            ${iso('v.voted_at')} as decided_at, v.in_place_of as also
                       from hitl_vote v where v.task_id = t.id order by v.voted_at, v.id) v) end as votes
     from hitl_task t where t.id = ?`,
);

const WRITE = new Prepared(
  `select decide_at_once(?::uuid, ?::text, ?::json, ?::boolean, ?::text, ?::json, ?::json, ?::json,
     ?::json, ?::json) as updated_at`,
);

/** What was decided, and the caller with the absent people whose deputy they are. */
export interface DecidedAtOnce extends Decided {
  actor: Actor;
}

/** The answer to keep for an `Idempotency-Key`: columns of its row. */
export interface KeyedAnswer extends AnswerKept {
  status: number;
  headers: Record<string, string>;
}

interface Request {
  taskId: string;
  /** Called once the caller is known to be allowed to act. */
  submission: () => Checked<Submission>;
  /** The entry of the audit log, as JSON of its columns. */
  entry: () => string;
  /** Refuses the caller for another reason than those of the task. */
  check?: (task: HumanTask) => Promise<void>;
  /** The id of a decision link, which is used up. */
  link?: string;
  /** With an `Idempotency-Key`. The body's `task.updated_at` is replaced by the time of the change. */
  keep?: ((decided: DecidedAtOnce) => Promise<KeyedAnswer>) | undefined;
}

/**
 * @param em without a transaction
 * @returns null if nothing was written
 * @throws 404 and 403 as `loadForChange` does
 */
export async function decideAtOnce(
  em: EntityManager,
  { actor: caller, via }: Caller,
  request: Request,
): Promise<DecidedAtOnce | null> {
  const { taskId, submission, check } = request;
  const [read] = await READ.execute<Read>(em, [caller.id, taskId]);
  if (!read) throw notFound('human task');
  const { now, absent, votes, comments, ...task } = read;
  const actor = asDeputy(caller, absent);
  checkSees(actor, task);
  const acting: Acting = { task, ...checkMayAct(actor, task) };
  await check?.(task);
  const checked = await checkSubmission(actor.id, task, submission());
  if ('refusal' in checked || isTerminal(task.run_status)) return null;
  // Changes the row first.
  if (takesOver(acting.as, task)) return null;
  // Files have to be linked with the run first.
  if (fileIdsIn(checked.value.payload).length > 0) return null;
  const { decision: word } = checked.value;
  const command = {
    kind: 'decide',
    by: acting.as.id,
    self: actor.id,
    decision: word,
    late: task.late,
  } as const;
  const result = step(stateOf(task, votes ?? []), command);
  if ('refused' in result) return null;
  const decides = result.change === 'decided';
  const decision = newDecision(checked.value, actor.id, now, decides);
  return write(em, { actor, via }, request, { acting, decision, votes, comments });
}

interface Change {
  acting: Acting;
  /** `delivered` is null for a vote that leaves the task open. */
  decision: Decision;
  /** Those before. */
  votes: Vote[] | null;
  comments: Comment[];
}

async function write(
  em: EntityManager,
  given: Caller,
  request: Request,
  { acting, decision, votes, comments }: Change,
): Promise<DecidedAtOnce | null> {
  const { actor } = given;
  const { task, as } = acting;
  const decides = decision.delivered !== null;
  const all: Vote[] | null = votes && [...votes, { ...decision, also: as.id === actor.id ? null : as.id }];
  const { audit, events } = decides
    ? decisionRecord(given, acting, decision)
    : recordOf(given, acting, voteChange(given, acting, decision));
  const sent = decides ? decisionSignal(acting, decision, all && all.map(answerOf)) : null;
  const changed = decides ? { status: DECIDED, decision } : { decision: null };
  const details = { comments, ...detailsOf(actor, task, all) };
  const decidedAt = (time: string): DecidedAtOnce => ({
    actor,
    task: { ...task, ...details, ...changed, updated_at: time },
    decision,
    signal: sent && sent.signal,
  });
  const traceparent = decides ? await traceOfDecision(em, task.run_id) : null;
  const [written] = await WRITE.execute<{ updated_at: string | null }>(em, [
    task.run_id,
    task.row_version,
    decisionRow(given, acting, decision, traceparent),
    task.quorum !== null,
    decides ? DECIDED : null,
    audit,
    events,
    sent && sent.notice,
    request.entry(),
    await onceOf(request, decidedAt(decision.decided_at)),
  ]);
  const time = written?.updated_at ?? null;
  return time === null ? null : decidedAt(time);
}

/** What lets the statement happen once only, as JSON; null: the state of the task is all. */
async function onceOf({ link, keep }: Request, decided: DecidedAtOnce): Promise<string | null> {
  if (keep === undefined) return link === undefined ? null : JSON.stringify({ link });
  const { body, ...answer } = await keep(decided);
  // The database knows the time of the change.
  const mark = randomUUID();
  const isOfTask = isRecord(body) && isRecord(body['task']);
  const marked = isOfTask ? { ...body, task: { ...(body['task'] as object), updated_at: mark } } : body;
  return JSON.stringify({ link, answer: { ...answer, body: JSON.stringify(marked).split(mark) } });
}

function stateOf(task: HumanTask, votes: readonly Vote[]): TaskState {
  const cast = votes.map(({ decided_by: by, decision, also }) => ({ by, decision, also }));
  return { ...heldState(task), votes: cast };
}

/** For the run. */
function answerOf({ decision, payload, comment, decided_by, decided_at }: HumanAnswer): HumanAnswer {
  return { decision, payload, comment, decided_by, decided_at };
}

type VoteDetails = Pick<HumanTaskView, 'tally' | 'my_vote' | 'assignee_voted' | 'represented'>;

/** What the record shows of the votes, as `withDetails` reads it. `votes`: null without a quorum. */
function detailsOf(viewer: Actor, task: HumanTask, votes: readonly Vote[] | null): VoteDetails {
  if (votes === null) return { tally: null, my_vote: null, assignee_voted: false, represented: [] };
  const isBy = (id: string) => (vote: Vote) => vote.decided_by === id || vote.also === id;
  const mine = votes.find((vote) => vote.decided_by === viewer.id);
  const people = [viewer.id, ...(viewer.deputyFor ?? []).map(({ id }) => id)];
  return {
    tally: Object.fromEntries(
      task.decisions.map(({ id }) => [id, votes.filter(({ decision }) => decision === id).length]),
    ),
    my_vote: mine ? { decision: mine.decision, comment: mine.comment, voted_at: mine.decided_at } : null,
    assignee_voted: votes.some(
      ({ decided_by, also }) =>
        task.assignee_key === `id:${decided_by}` || task.assignee_key === `id:${also}`,
    ),
    represented: people.filter((id) => votes.some(isBy(id))),
  };
}
