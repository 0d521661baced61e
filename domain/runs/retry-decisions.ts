/**
 * What people have decided in the runs that a retry with changes continues, and what of it the retry would
 * take over: that is asked again first. No approval counts for anything else than what it was given for.
 */
import type { AgainQuestion, AskedAgain } from '../../contracts/asked-again.ts';
import type { HumanTaskRequest, ContextEntry, Delegate } from '../../contracts/hitl.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { conflict } from '../errors.ts';
import { MAX_RETRIES } from './limits.ts';
import type { Checkpoint, Place, Places } from './retry-place.ts';

/** The most decisions that a retry asks again, and that a refusal names. */
const MAX_ASKED_AGAIN = 20;
/** All questions of a retry, in characters of JSON: they are part of the run's state. */
const MAX_QUESTIONS = 512 * 1024;
/** The most decisions of a chain of runs that are looked through. */
const MAX_READ = 10_000;
/** What is shown of the change to those who are asked, in characters of JSON. */
const MAX_SHOWN = 16 * 1024;
/** A task has up to 50 entries. */
const MAX_ENTRIES = 48;

/** What the retry changes. */
interface Change {
  revision?: number | undefined;
  input?: unknown;
  from?: string | undefined;
}

/**
 * The decisions that a retry takes over, as questions. @throws 409 if there are too many, they are too large,
 * or they have been removed
 */
export async function decisionsToAsk(
  em: EntityManager,
  runId: string,
  checkpoint: Checkpoint,
  change: Change,
  { places, place }: { places: Places; place: Omit<Place, 'frame'> | null },
): Promise<AskedAgain[]> {
  const before = checkpoint.asked_again ?? [];
  const repeated = new Set(before.flatMap(({ asked }) => asked));
  const found = await decided(em, runId);
  const kept = [
    ...before.map(({ of, task, asked }) => ({ of, task, asked })),
    ...found.filter(({ of }) => !repeated.has(of)).map(({ of, task }) => ({ of, task, asked: [] })),
  ].filter(({ task }) => !places.comesTo(task, place));
  if (found.length === MAX_READ || kept.length > MAX_ASKED_AGAIN) throw keptDecisions(kept);
  const questions = await readQuestions(
    em,
    kept.map(({ of }) => of),
    shown('Retry with changes', { retry_of: runId, ...change }),
  );
  const again = kept.map(({ of, task, asked }) => {
    const question = questions.get(of);
    if (question === undefined) throw removedDecisions();
    return { of, task: places.now(task), asked, question };
  });
  if (JSON.stringify(again).length > MAX_QUESTIONS) throw keptDecisions(kept);
  return again;
}

function keptDecisions(kept: readonly { task: string }[]): ReturnType<typeof conflict> {
  const tasks = [...new Set(kept.map(({ task }) => task))].slice(0, MAX_ASKED_AGAIN);
  return conflict(
    'decisions_kept',
    `People have decided ${tasks.join(', ')}, which is too much to ask all of it again: continue there or ` +
      'before with "from", or start a new run.',
    { tasks },
  );
}

function removedDecisions(): ReturnType<typeof conflict> {
  return conflict(
    'decisions_removed',
    'A run that this one continues has been removed, and what people decided in it: start a new run.',
  );
}

/**
 * Decided tasks of the run, of those that it retries up to the last retry with changes, which has asked all
 * that it took over, and of their child runs. Nobody's run depends on decisions of detached ones.
 * @throws 409 if one of these runs has been removed
 */
async function decided(em: EntityManager, runId: string): Promise<{ of: string; task: string }[]> {
  const [chain] = await em.execute<{ ids: string[]; is_whole: boolean }[]>(
    `with recursive chain as (
       select id, retry_of, start_state is not null as changed, 0 as depth from run where id = ?
       union all
       select r.id, r.retry_of, r.start_state is not null, c.depth + 1
         from chain c join run r on r.id = c.retry_of where not c.changed and c.depth < ?)
     select json_agg(c.id) as ids,
            bool_and(c.retry_of is not null or c.changed or s.state -> 'continues' is null) as is_whole
       from chain c left join run_checkpoint s on s.run_id = c.id`,
    [runId, MAX_RETRIES],
  );
  if (chain?.is_whole !== true) throw removedDecisions();
  return em.execute<{ of: string; task: string }[]>(
    `with recursive tree as (
       select id, null::text as task from unnest(?::uuid[]) as chain (id)
       union all
       select r.id, coalesce(t.task, r.parent_task)
         from tree t join run r on r.parent_run_id = t.id and not r.detached)
     select h.id as of, coalesce(t.task, h.task) as task
       from tree t join hitl_task h on h.run_id = t.id and h.status = 'decided'
       join hitl_decision d on d.task_id = h.id
      order by d.decided_at, h.id limit ?`,
    [arrayLiteral(chain.ids), MAX_READ],
  );
}

type DecidedRow = Pick<
  HumanTaskRequest,
  | 'id'
  | 'title'
  | 'description'
  | 'subject'
  | 'form_schema'
  | 'assignee'
  | 'candidates'
  | 'priority'
  | 'quorum'
> &
  Pick<HumanTaskRequest, 'task_name' | 'decisions'> & {
    delegate: Delegate;
    context: ContextEntry[] | null;
    due_ms: number | null;
    expires_ms: number | null;
    decision: string;
    payload: unknown;
    comment: string | null;
  };

async function readQuestions(
  em: EntityManager,
  ids: readonly string[],
  change: Entry,
): Promise<Map<string, AgainQuestion>> {
  if (ids.length === 0) return new Map();
  const rows = await em.execute<DecidedRow[]>(
    `select h.id, h.task_name, h.title, h.description, h.subject, h.form_schema, h.decisions, h.assignee,
            h.candidates, h.priority, h.quorum, h.delegate, h.context,
            round(extract(epoch from h.due_at - h.created_at) * 1000)::float8 as due_ms,
            round(extract(epoch from h.expires_at - h.created_at) * 1000)::float8 as expires_ms,
            d.decision, d.payload, d.comment
       from hitl_task h join hitl_decision d on d.task_id = h.id where h.id = any(?::uuid[])`,
    [arrayLiteral(ids)],
  );
  return new Map(
    rows.map(({ id, due_ms, expires_ms, decision, payload, comment, context, ...request }) => {
      const earlier = (context ?? [])
        .slice(0, MAX_ENTRIES)
        .map(({ name, value, value_omitted: omitted }) =>
          omitted ? { name, value_omitted: true as const } : { name, value },
        );
      const decidedBefore = shown('Decided before', { decision, payload, comment });
      return [
        id,
        {
          request: { ...request, context: [change, decidedBefore, ...earlier] },
          due_ms,
          expires_ms,
          decision,
          payload,
        },
      ];
    }),
  );
}

type Entry = { name: string } & ({ value: unknown } | { value_omitted: true });

function shown(name: string, value: unknown): Entry {
  return JSON.stringify(value).length > MAX_SHOWN ? { name, value_omitted: true } : { name, value };
}
