/**
 * Runs that were started through the protocols of language models: MCP and OpenAI's API. The rows lead a
 * later request to the run of a call, and keep a model from deciding on its own run.
 */
import type { EntityManager } from '../../db/orm.ts';
import { isOneOf } from '../../db/sql.ts';
import { invalid, notFound } from '../errors.ts';

/** As for other requests (docs/interface.md#repeat-a-request). */
const KEY_HOURS = 24;
/** A call comes soon after its cancellation, or never. */
const CANCELLATION_MINUTES = 10;
const MAX_CANCELLATIONS = 1_000;

export interface ProtocolCall {
  id: string;
  protocol: 'mcp' | 'openai';
  run_id: string;
  user_id: string;
  /** Of the MCP client; null if it has none. */
  session_id: string | null;
  /** Of the JSON-RPC request, as JSON; null without one. */
  request_id: string | null;
  /** As JSON; null if the client wants no progress. */
  progress_token: string | null;
  /** By which the client repeats the call; null if it cannot. */
  idempotency_key: string | null;
  /** Of what is called with which arguments; null without a key. */
  request_digest: string | null;
}

const COLUMNS =
  'id, protocol, run_id, user_id, session_id, request_id, progress_token, idempotency_key, request_digest';

export async function noteProtocolCall(em: EntityManager, call: ProtocolCall): Promise<void> {
  await em.execute(`insert into protocol_call (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`, [
    call.id,
    call.protocol,
    call.run_id,
    call.user_id,
    call.session_id,
    call.request_id,
    call.progress_token,
    call.idempotency_key,
    call.request_digest,
  ]);
}

/**
 * The run that an earlier call with the same key has started; null if there is none, or if it failed or was
 * cancelled. Other calls with the key wait until the transaction ends. @throws 422 for a key that was used
 * for another request; 404 if the run was handed over to somebody else
 */
export async function findRepeatedRun(
  em: EntityManager,
  { user_id, protocol, idempotency_key: key, request_digest: digest }: Omit<ProtocolCall, 'run_id'>,
): Promise<string | null> {
  if (key === null) return null;
  await lock(em, ['protocol call', user_id, protocol, key]);
  const [earlier] = await em.execute<{ run_id: string; request_digest: string; is_theirs: boolean }[]>(
    `select c.run_id, c.request_digest, r.owner_id = c.user_id as is_theirs
       from protocol_call c join run r on r.id = c.run_id
      where c.user_id = ? and c.idempotency_key = ? and c.protocol = ?
        and c.created_at > clock_timestamp() - interval '${KEY_HOURS} hours'
        and not (${isOneOf('r.status', ['faulted', 'cancelled'])})
        and not exists (select from run_signal s where s.run_id = r.id and s.kind = 'cancel')
      order by c.id desc limit 1`,
    [user_id, key, protocol],
  );
  if (earlier === undefined) return null;
  if (earlier.request_digest !== digest) {
    const message = 'The Idempotency-Key was used for another request.';
    throw invalid(
      [{ pointer: '', code: 'idempotency_key_reused', message }],
      message,
      'idempotency_key_reused',
    );
  }
  if (!earlier.is_theirs) throw notFound('run');
  return earlier.run_id;
}

/** Whether no later call waits for the same run: its client has repeated the request. */
export async function isLastCall(
  em: EntityManager,
  { id, run_id }: Pick<ProtocolCall, 'id' | 'run_id'>,
): Promise<boolean> {
  const rows = await em.execute<object[]>(`select from protocol_call where run_id = ? and id > ? limit 1`, [
    run_id,
    id,
  ]);
  return rows.length === 0;
}

/** A call of the user; null if there is none. */
export async function findProtocolCall(
  em: EntityManager,
  userId: string,
  id: string,
): Promise<ProtocolCall | null> {
  const [row] = await em.execute<ProtocolCall[]>(
    `select ${COLUMNS} from protocol_call where id = ? and user_id = ?`,
    [id, userId],
  );
  return row ?? null;
}

/** The last call of a session with this id of a JSON-RPC request; null if there is none. */
async function findCallOfRequest(
  em: EntityManager,
  userId: string,
  { session_id, request_id }: ClientRequest,
): Promise<ProtocolCall | null> {
  const [row] = await em.execute<ProtocolCall[]>(
    `select ${COLUMNS} from protocol_call
      where session_id = ? and user_id = ? and request_id = ? order by id desc limit 1`,
    [session_id, userId, request_id],
  );
  return row ?? null;
}

/** A request of a client, by its session and the id of the JSON-RPC request, as JSON. */
export interface ClientRequest {
  session_id: string;
  request_id: string;
}

/**
 * The call that answers a request that its client has cancelled. If it has not begun, the cancellation is
 * noted for it; null.
 */
export async function noteCancellation(
  em: EntityManager,
  userId: string,
  request: ClientRequest,
): Promise<ProtocolCall | null> {
  const { session_id, request_id } = request;
  await lockRequest(em, request);
  const begun = await findCallOfRequest(em, userId, request);
  if (begun !== null) return begun;
  await em.execute(
    `insert into cancelled_request (user_id, session_id, request_id) values (?, ?, ?) on conflict do nothing`,
    [userId, session_id, request_id],
  );
  await em.execute(
    `delete from cancelled_request where user_id = ? and (
       created_at < clock_timestamp() - interval '${CANCELLATION_MINUTES} minutes'
       or (session_id, request_id) in (
         select session_id, request_id from cancelled_request
          where user_id = ? order by created_at desc offset ${MAX_CANCELLATIONS}))`,
    [userId, userId],
  );
  return null;
}

/** Whether the client has cancelled the call before it begins. A cancellation that comes now waits. */
export async function wasCancelled(
  em: EntityManager,
  { user_id, session_id, request_id }: Omit<ProtocolCall, 'run_id'>,
): Promise<boolean> {
  if (session_id === null || request_id === null) return false;
  await lockRequest(em, { session_id, request_id });
  const noted = await em.execute<object[]>(
    `select from cancelled_request
      where user_id = ? and session_id = ? and request_id = ?
        and created_at > clock_timestamp() - interval '${CANCELLATION_MINUTES} minutes'`,
    [user_id, session_id, request_id],
  );
  return noted.length > 0;
}

async function lockRequest(em: EntityManager, { session_id, request_id }: ClientRequest): Promise<void> {
  await lock(em, ['client request', session_id, request_id]);
}

async function lock(em: EntityManager, names: readonly string[]): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [JSON.stringify(names)]);
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
    `select from protocol_call
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
