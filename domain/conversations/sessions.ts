/**
 * What an agent remembers of a session: one memory for each agent, owner of runs and session id
 * (docs/llm-agents.md#remember-a-conversation).
 */
import { v7 as uuidv7 } from 'uuid';
import { fault } from '../../contracts/fault.ts';
import { TERMINAL_STATUSES, UNFINISHED_TASK_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { containsPattern, isOneOf, type KeysetPage } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { notFound } from '../errors.ts';
import type { ChatMessage } from '../ports.ts';
import { getAgent } from '../registry/agent-service.ts';
import { storable } from '../storable.ts';
import { takeOverSession } from './hand-over.ts';

/** Of one session; older ones are forgotten. */
const MAX_MESSAGES = 200;
const MAX_CHARACTERS = 256 * 1024;
/** Of one message; the rest is cut. */
const MAX_MESSAGE = 64 * 1024;
/** Of an owner with one agent. The sessions that rest longest make room. */
const MAX_SESSIONS = 1_000;

/** The call that continues a session. No other does until this one has ended. */
export interface Holder {
  run_id: string;
  task: string;
  visit: number;
}

export interface HeldSession {
  id: string;
  history: ChatMessage[];
}

/**
 * Holds a session of the owner of the run, and creates it at its first use. @throws Fault if another call
 * holds it
 */
export async function holdSession(
  em: EntityManager,
  agentId: string,
  name: string,
  holder: Holder,
): Promise<HeldSession> {
  await takeOverSession(em, { runId: holder.run_id, agentId, name });
  await em.execute(
    `insert into chat_session (id, agent_id, owner_id, name)
     select ?, ?, r.owner_id, ? from run r where r.id = ?
     on conflict do nothing`,
    [uuidv7(), agentId, name, holder.run_id],
  );
  const [session] = await em.execute<{ id: string; owner_id: string }[]>(
    `select s.id, s.owner_id from chat_session s join run r on r.owner_id = s.owner_id
      where r.id = ? and s.agent_id = ? and s.name = ? for update of s`,
    [holder.run_id, agentId, name],
  );
  if (!session) throw fault('runtime', `The session ${JSON.stringify(name)} cannot be continued`);
  await takeHold(em, session.id, name, holder);
  await makeRoom(em, agentId, session.owner_id);
  return { id: session.id, history: await readHistory(em, session.id) };
}

/** Holds a session that an earlier run of the same work held. @throws Fault if another call holds it */
export async function holdAgain(em: EntityManager, sessionId: string, holder: Holder): Promise<void> {
  const [session] = await em.execute<{ name: string }[]>(
    `select name from chat_session where id = ? for update`,
    [sessionId],
  );
  if (session) await takeHold(em, sessionId, session.name, holder);
}

/** A holder that has ended without a word holds nothing any more. */
async function takeHold(
  em: EntityManager,
  sessionId: string,
  name: string,
  { run_id: runId, task, visit }: Holder,
): Promise<void> {
  const [other] = await em.execute<{ run_id: string }[]>(
    `select s.holder_run as run_id from chat_session s
       join run r on r.id = s.holder_run and not (${isOneOf('r.status', TERMINAL_STATUSES)})
       join run_task t on t.run_id = s.holder_run and t.reference = s.holder_task
                      and t.visit = s.holder_visit and ${isOneOf('t.status', UNFINISHED_TASK_STATUSES)}
      where s.id = ? and (s.holder_run, s.holder_task, s.holder_visit) is distinct from (?::uuid, ?, ?::int)`,
    [sessionId, runId, task, visit],
  );
  if (other)
    throw fault(
      'runtime',
      `The session ${JSON.stringify(name)} is in use by the run ${other.run_id}: one call at a time ` +
        'continues a session',
      { status: 409 },
    );
  await em.execute(
    `update chat_session set holder_run = ?, holder_task = ?, holder_visit = ?, updated_at = clock_timestamp()
      where id = ?`,
    [runId, task, visit, sessionId],
  );
}

async function makeRoom(em: EntityManager, agentId: string, ownerId: string): Promise<void> {
  await em.execute(
    `delete from chat_session where id in (
       select id from chat_session where agent_id = ? and owner_id = ?
        order by updated_at desc, id desc offset ?)`,
    [agentId, ownerId, MAX_SESSIONS],
  );
}

/** Oldest first. */
async function readHistory(em: EntityManager, sessionId: string): Promise<ChatMessage[]> {
  return em.execute<ChatMessage[]>(
    `select role, text from chat_message where session_id = ? order by number`,
    [sessionId],
  );
}

/**
 * Adds what was said in a conversation, once, and gives the session back. Call in the transaction that ends
 * the conversation. @returns false if its call does not hold the session any more: another one continues it,
 * or the call was cancelled or timed out while the model answered
 */
export async function remember(
  em: EntityManager,
  sessionId: string,
  conversationId: string,
  messages: readonly ChatMessage[],
): Promise<boolean> {
  const session = await em.execute<object[]>('select from chat_session where id = ? for update', [sessionId]);
  // Deleted meanwhile, which is what its owner wants.
  if (session.length === 0) return true;
  if (!(await isHeldBy(em, sessionId, conversationId))) return false;
  for (const { role, text } of messages)
    await em.execute(
      `insert into chat_message (session_id, conversation_id, role, text)
       select s.id, ?, ?, ? from chat_session s where s.id = ? on conflict do nothing`,
      [conversationId, role, storable(text.slice(0, MAX_MESSAGE)), sessionId],
    );
  await em.execute(
    `delete from chat_message m using (
       select number, row_number() over w as place, sum(length(text)) over w as characters
         from chat_message where session_id = ? window w as (order by number desc)) newer
      where m.session_id = ? and m.number = newer.number and (newer.place > ? or newer.characters > ?)`,
    [sessionId, sessionId, MAX_MESSAGES, MAX_CHARACTERS],
  );
  await em.execute(
    `update chat_session
        set holder_run = null, holder_task = null, holder_visit = null, updated_at = clock_timestamp()
      where id = ?`,
    [sessionId],
  );
  return true;
}

async function isHeldBy(em: EntityManager, sessionId: string, conversationId: string): Promise<boolean> {
  const held = await em.execute<object[]>(
    `select from chat_session s
       join conversation c on (c.run_id, c.task, c.visit) = (s.holder_run, s.holder_task, s.holder_visit)
       join run r on r.id = c.run_id and not (${isOneOf('r.status', TERMINAL_STATUSES)})
      where s.id = ? and c.id = ?
        and not exists (
          select from run_task t
           where t.run_id = c.run_id and t.reference = c.task and t.visit = c.visit
             and not (${isOneOf('t.status', UNFINISHED_TASK_STATUSES)}))`,
    [sessionId, conversationId],
  );
  return held.length > 0;
}

export interface SessionRow {
  id: string;
  agent_id: string;
  agent_name: string;
  session: string;
  messages: number;
  created_at: Date | string;
  updated_at: Date | string;
}

const SESSION = `s.id, s.agent_id, s.name as session, s.created_at, s.updated_at,
  (select a.name from agent a where a.id = s.agent_id) as agent_name,
  (select count(*)::int from chat_message m where m.session_id = s.id) as messages`;

interface SessionFilter {
  agent_id?: string | null | undefined;
  /** Text in the id or in what was said. */
  q?: string | undefined;
}

/** The actor's own, newest first, whether or not the actor may see their agents. */
export async function listSessions(
  em: EntityManager,
  actor: Actor,
  { agent_id: agentId = null, q }: SessionFilter,
  page: KeysetPage,
): Promise<SessionRow[]> {
  const pattern = q === undefined || q === '' ? null : containsPattern(q);
  return em.execute<SessionRow[]>(
    `select ${SESSION} from chat_session s
      where s.owner_id = ? and (?::uuid is null or s.agent_id = ?::uuid)
        and (?::uuid is null or s.id < ?::uuid)
        and (?::text is null or s.name ilike ? or exists (
              select from chat_message m where m.session_id = s.id and m.text ilike ?))
      order by s.id desc limit ?`,
    [
      actor.id,
      agentId,
      agentId,
      page.after ?? null,
      page.after ?? null,
      pattern,
      pattern,
      pattern,
      page.limit,
    ],
  );
}

/**
 * The agent, if the actor may see it or has talked to it: others may use a private agent through a workflow
 * of its owner. @throws 404
 */
export async function agentWithSessions(em: EntityManager, actor: Actor, agentId: string): Promise<string> {
  const [agent] = await em.execute<object[]>(
    'select from chat_session where agent_id = ? and owner_id = ? limit 1',
    [agentId, actor.id],
  );
  return agent === undefined ? (await getAgent(em, actor, agentId)).id : agentId;
}

export interface SaidRow extends ChatMessage {
  said_at: Date | string;
}

/** One of the actor's own, with its messages, oldest first. @throws 404 */
export async function getSession(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  name: string,
): Promise<SessionRow & { said: SaidRow[] }> {
  const [session] = await em.execute<SessionRow[]>(
    `select ${SESSION} from chat_session s where s.agent_id = ? and s.owner_id = ? and s.name = ?`,
    [agentId, actor.id, name],
  );
  if (!session) throw notFound('session');
  const said = await em.execute<SaidRow[]>(
    `select role, text, said_at from chat_message where session_id = ? order by number`,
    [session.id],
  );
  return { ...session, said };
}

/** A call that continues it goes on, and is not remembered. @throws 404 */
export async function deleteSession(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  name: string,
): Promise<void> {
  const gone = await em.execute<object[]>(
    `delete from chat_session where agent_id = ? and owner_id = ? and name = ? returning id`,
    [agentId, actor.id, name],
  );
  if (gone.length === 0) throw notFound('session');
}

/** Of one statement. */
const REMOVED_AT_ONCE = 100;

/**
 * Removes sessions that nobody has continued for so many days, one batch, but none that a live run holds.
 * @returns the number of removed sessions, 0 at the end
 */
export async function removeRestingSessions(em: EntityManager, days: number): Promise<number> {
  const rows = await em.execute<object[]>(
    `delete from chat_session where id in (
       select s.id from chat_session s
        where s.updated_at < clock_timestamp() - ? * interval '1 day'
          and not exists (select from run r where r.id = s.holder_run
                             and not (${isOneOf('r.status', TERMINAL_STATUSES)}))
        order by s.updated_at limit ${REMOVED_AT_ONCE} for update of s skip locked)
     returning 1`,
    [days],
  );
  return rows.length;
}
