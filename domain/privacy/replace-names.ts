/**
 * Takes a person's name out of records that have to stay: they name the id then, or the erased account. Each
 * function works on one batch and says where the next one begins.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { valuesFor } from './owned.ts';

const BATCH = 200;
/** Of rows that are only looked at. */
const LOOKED_AT = 5_000;
const FIRST = '00000000-0000-0000-0000-000000000000';

/** The person, by the names of before and after. */
interface Renamed {
  id: string;
  /** The former username. */
  from: string;
  /** That of the erased account. */
  to: string;
}

interface Batch {
  /** Records that were changed. */
  changed: number;
  /** Where to go on; null at the end. */
  position: string | null;
}

type Step = (em: EntityManager, person: Renamed, position: string | null) => Promise<Batch>;

/** A username in a regular expression of PostgreSQL. */
function pattern(username: string): string {
  return username.replaceAll(/[^A-Za-z0-9]/g, String.raw`\$&`);
}

function batchOf(rows: readonly { id: string }[], changed: number, size = BATCH): Batch {
  return { changed, position: rows.length < size ? null : (rows.at(-1)?.id ?? null) };
}

/** `@name` in the comments that have told the person so. */
const comments: Step = async (em, { id, from, to }, position) => {
  const rows = await em.execute<{ id: string }[]>(
    `select distinct comment_id as id from notification
      where user_id = ? and comment_id > ? order by comment_id limit ?`,
    [id, position ?? FIRST, BATCH],
  );
  const changed = await em.execute<object[]>(
    `update hitl_comment set comment = regexp_replace(comment, ?, ?, 'gi')
      where id = any(?::uuid[]) and comment ~* ? returning 1`,
    [mention(from), `@${to}`, arrayLiteral(rows.map((row) => row.id)), mention(from)],
  );
  return batchOf(rows, changed.length);
};

function mention(username: string): string {
  return String.raw`(?<![\w.@/+-])@${pattern(username)}(?![\w-]|\.[A-Za-z0-9])`;
}

/** Candidates and assignees of human tasks, which may be named by username: the id means the same. */
const tasks: Step = async (em, { id, from, to }, position) => {
  const [byId, byName] = [`id:${id}`, `name:${from.toLowerCase()}`];
  const rows = await em.execute<{ id: string; run_id: string }[]>(
    `select id, run_id from hitl_task where principals && ?::text[] and id > ? order by id limit ?`,
    [arrayLiteral([byId, byName]), position ?? FIRST, BATCH],
  );
  const changed = await em.execute<object[]>(
    `update hitl_task
        set assignee = case when lower(assignee) = lower(?) then ? else assignee end,
            assignee_key = case when assignee_key = ? then ? else assignee_key end,
            candidates = jsonb_set(candidates, '{users}', coalesce(
              (select jsonb_agg(case when lower(u.name) = lower(?) then ?::text else u.name end order by u.n)
                 from jsonb_array_elements_text(candidates -> 'users') with ordinality as u (name, n)),
              '[]')),
            candidate_keys = array_replace(candidate_keys, ?, ?),
            excluded = array_replace(excluded, ?, ?)
      where id = any(?::uuid[])
        and (lower(assignee) = lower(?) or ? = any(principals)
             or exists (select from jsonb_array_elements_text(candidates -> 'users') as u (name)
                         where lower(u.name) = lower(?)))
      returning 1`,
    [
      from,
      id,
      byName,
      byId,
      from,
      id,
      byName,
      byId,
      byName,
      byId,
      arrayLiteral(rows.map((row) => row.id)),
      from,
      byName,
      from,
    ],
  );
  await em.execute(
    `update run_event set message = regexp_replace(message, ?, ?, 'i')
      where run_id = any(?::uuid[]) and type = ? and data->>'to' = ?`,
    [
      ` to ${pattern(from)}$`,
      ` to ${to}`,
      arrayLiteral(rows.map((row) => row.run_id)),
      EVENT.hitlDelegated,
      id,
    ],
  );
  return batchOf(rows, changed.length);
};

/** A JSON string that is the name. */
function quoted(username: string): string {
  return `"${pattern(username)}"`;
}

/** Events whose text says who did it. */
const NAMING_EVENTS = [
  EVENT.hitlClaimed,
  EVENT.hitlReleased,
  EVENT.hitlDelegated,
  EVENT.hitlCommented,
  EVENT.hitlVoted,
  EVENT.hitlDecided,
];

/** What the person did with human tasks: the name beside the id, and in the text of the run's log. */
const acts: Step = async (em, { id, from, to }, position) => {
  const rows = await em.execute<{ id: string; run_id: string }[]>(
    `select id, run_id from hitl_audit where actor_id = ? and id > ? order by id limit ?`,
    [id, position ?? FIRST, BATCH],
  );
  await allowRenaming(em);
  const changed = await em.execute<object[]>(
    `update hitl_audit set actor_name = null
      where id = any(?::uuid[]) and actor_name is not null returning 1`,
    [arrayLiteral(rows.map((row) => row.id))],
  );
  await em.execute(
    `update run_event set message = regexp_replace(message, ?, ?, 'i')
      where run_id = any(?::uuid[]) and type = any(?::text[]) and data->>'by' = ?`,
    [
      `: ${pattern(from)} `,
      `: ${to} `,
      arrayLiteral(rows.map((row) => row.run_id)),
      arrayLiteral(NAMING_EVENTS),
      id,
    ],
  );
  return batchOf(rows, changed.length);
};

/** Candidates and assignees in the history of human tasks, which outlives them: all of it is looked at. */
const histories: Step = async (em, person, position) => {
  const rows = await em.execute<{ id: string; data: Record<string, unknown> | null }[]>(
    `select id, case when action in ('created', 'escalated', 'delegated') and data::text ~* ? then data end
              as data
       from hitl_audit where id > ? order by id limit ?`,
    [quoted(person.from), position ?? FIRST, LOOKED_AT],
  );
  const changed = rows.flatMap(({ id, data }) => {
    const fields = Object.entries(data ?? {}).map(([name, value]) => [name, withoutName(value, person)]);
    const next: unknown = Object.fromEntries(fields);
    return data === null || JSON.stringify(next) === JSON.stringify(data) ? [] : [{ id, data: next }];
  });
  if (changed.length > 0) {
    await allowRenaming(em);
    await em.execute(
      `update hitl_audit h set data = n.data
         from jsonb_to_recordset(?::jsonb) as n (id uuid, data jsonb) where h.id = n.id`,
      [JSON.stringify(changed)],
    );
  }
  return batchOf(rows, changed.length, LOOKED_AT);
};

/** The id in place of the name: an assignee, or users among candidates, but no role or group of that name. */
function withoutName(value: unknown, person: Renamed): unknown {
  if (typeof value === 'string') return value.toLowerCase() === person.from.toLowerCase() ? person.id : value;
  if (!isRecord(value) || !Array.isArray(value['users'])) return value;
  return { ...value, users: value['users'].map((user: unknown) => withoutName(user, person)) };
}

/** The trigger of `hitl_audit` lets this transaction replace names, and nothing else. */
export async function allowRenaming(em: EntityManager): Promise<void> {
  await em.execute(`select set_config('cadenza.erases_names', 'on', true)`);
}

/** Texts of reviews go; the ratings are part of the items'. */
const reviews: Step = async (em, { id }) => {
  const rows = await em.execute<object[]>(
    'update marketplace_review set text = null where user_id = ? and text is not null returning 1',
    [id],
  );
  return { changed: rows.length, position: null };
};

/** Rights that others have given to the person. */
const grants: Step = async (em, { id }) => {
  const statements = [
    `update workflow set runner_keys = array_remove(runner_keys, 'id:' || ?::text),
            runners = jsonb_set(runners, '{users}', (runners->'users') - ?::text)
      where 'id:' || ?::text = any(runner_keys) returning 1`,
    `update workflow set event_senders = array_remove(event_senders, ?::uuid)
      where ?::uuid = any(event_senders) returning 1`,
    `update event_source set shared_with = array_remove(shared_with, ?::uuid)
      where ?::uuid = any(shared_with) returning 1`,
    'update scim_token set created_by = null where created_by = ? returning 1',
  ];
  let changed = 0;
  for (const sql of statements) {
    changed += (await em.execute<object[]>(sql, valuesFor(sql, id))).length;
  }
  return { changed, position: null };
};

/** In their order; comments come before the notifications that lead to them are removed. */
export const RENAMING: readonly (readonly [kind: string, step: Step])[] = [
  ['comments', comments],
  ['human_tasks', tasks],
  ['task_history', acts],
  ['task_candidates', histories],
  ['reviews', reviews],
  ['grants', grants],
];
