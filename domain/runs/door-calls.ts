/**
 * Runs that came in by a door for language models: the MCP server and OpenAI's API. The rows lead a later
 * request to the run of a call, and keep a model from deciding on its own run.
 */
import type { EntityManager } from '../../db/orm.ts';

export interface DoorCall {
  id: string;
  door: 'mcp' | 'openai';
  run_id: string;
  user_id: string;
  /** Of the MCP client; null if it has none. */
  session_id: string | null;
  /** Of the JSON-RPC request, as JSON; null without one. */
  request_id: string | null;
  /** As JSON; null if the client wants no progress. */
  progress_token: string | null;
}

export async function noteDoorCall(em: EntityManager, call: DoorCall): Promise<void> {
  await em.execute(
    `insert into door_call (id, door, run_id, user_id, session_id, request_id, progress_token)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [call.id, call.door, call.run_id, call.user_id, call.session_id, call.request_id, call.progress_token],
  );
}

const COLUMNS = 'id, door, run_id, user_id, session_id, request_id, progress_token';

/** A call of the user; null if there is none. */
export async function findDoorCall(em: EntityManager, userId: string, id: string): Promise<DoorCall | null> {
  const [row] = await em.execute<DoorCall[]>(
    `select ${COLUMNS} from door_call where id = ? and user_id = ?`,
    [id, userId],
  );
  return row ?? null;
}

/** The last call of a session with this id of a JSON-RPC request; null if there is none. */
export async function findCallOfRequest(
  em: EntityManager,
  userId: string,
  { session_id, request_id }: { session_id: string; request_id: string },
): Promise<DoorCall | null> {
  const [row] = await em.execute<DoorCall[]>(
    `select ${COLUMNS} from door_call
      where session_id = ? and user_id = ? and request_id = ? order by id desc limit 1`,
    [session_id, userId, request_id],
  );
  return row ?? null;
}

/**
 * SQL: the ids of a run and of all that led to it: parents, retried runs, runs whose step asked for it, and
 * runs that emitted the events which started it.
 */
const CHAIN = `
  with recursive chain (id) as (
    select ?::uuid
    union
    select before.id from chain join run r on r.id = chain.id
      cross join lateral (
        values (r.parent_run_id), (r.root_run_id), (r.retry_of), (r.caller_run_id)
        union all select e.run_id from inbound_event e where e.id = any(r.started_by)) before (id)
     where before.id is not null)
  select id from chain`;

/**
 * Whether a language model may have begun the run `runId`, or the run is of the same chain as the calling
 * one. Such a run must be decided on elsewhere: the caller would approve itself.
 */
export async function servesCaller(
  em: EntityManager,
  runId: string,
  callingRunId: string | null,
): Promise<boolean> {
  const chain = await chainOf(em, runId);
  const [begun] = await em.execute<object[]>(
    `select from door_call
      where run_id = any(array(select jsonb_array_elements_text(?::jsonb)::uuid)) limit 1`,
    [JSON.stringify(chain)],
  );
  if (begun !== undefined) return true;
  if (callingRunId === null) return false;
  const calling = new Set(await chainOf(em, callingRunId));
  return chain.some((id) => calling.has(id));
}

async function chainOf(em: EntityManager, runId: string): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(CHAIN, [runId]);
  return rows.map(({ id }) => id);
}
