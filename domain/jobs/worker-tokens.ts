/**
 * Tokens of external workers. Each serves a few agents and opens nothing else. Long and random, so a plain
 * SHA-256 hash is enough.
 */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { counted } from '../../contracts/counted.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, type KeysetPage } from '../../db/sql.ts';
import type { Role } from '../../contracts/roles.ts';
import { hashSecret } from '../auth/clients.ts';
import type { Actor } from '../auth/actor.ts';
import { startsWaiting } from '../auth/waiting-programs.ts';
import { AppError, conflict, forbidden, invalid, notFound } from '../errors.ts';
import { mayChangeAgent, maySeeAgent, type Ownership } from '../registry/agent-policy.ts';

const PREFIX = 'cadenza_worker_';
const PATTERN = /^cadenza_worker_[A-Za-z0-9_-]{43}$/;
const MAX_TOKENS_OF_AGENT = 100;
const DAY_MS = 86_400_000;

export interface WorkerToken {
  id: string;
  owner_id: string;
  name: string;
  agent_ids: string[];
  created_at: Date | string;
  expires_at: Date | string;
  last_used: Date | string | null;
  awaits_second_factor: boolean;
}

/** Who asks for jobs: a worker's token, or a person who may change the agent. */
export interface WorkerCaller {
  /** Names the holder of a lease: `token:` or `user:` with its id. */
  holder: string;
  /** Of the token, or of the person. */
  name: string;
  /** Null for a person: the agent's row decides. */
  agentIds: ReadonlySet<string> | null;
  /** Of these agents, those that were not of kind edge when the token was read. */
  otherKinds: ReadonlySet<string>;
  /** The token waits for a second factor of its owner: it serves nothing. */
  waits: boolean;
}

export interface NewWorkerToken {
  name: string;
  agentIds: readonly string[];
  /** Default: the latest allowed time. */
  expiresAt?: Date | undefined;
  /** The longest allowed lifetime in days. */
  maxDays: number;
  secondFactorRoles: readonly Role[];
}

/**
 * The agents have to be the caller's to change. The token is only in this answer. @throws 404, 403, 409, 422
 */
export async function createWorkerToken(
  em: EntityManager,
  actor: Actor,
  given: NewWorkerToken,
): Promise<{ token: string; record: WorkerToken }> {
  const agentIds = [...new Set(given.agentIds)];
  await checkAgents(em, actor, agentIds);
  const latest = new Date(Date.now() + given.maxDays * DAY_MS);
  const expiresAt = given.expiresAt ?? latest;
  if (expiresAt.getTime() <= Date.now() || expiresAt > latest) {
    const message = `must be a time within the next ${counted(given.maxDays, 'day')}`;
    throw invalid([{ pointer: '/expires_at', code: 'out_of_range', message }]);
  }
  const token = PREFIX + randomBytes(32).toString('base64url');
  const id = uuidv7();
  const waits = await startsWaiting(em, actor.id, given.secondFactorRoles);
  await em.execute(
    `insert into worker_token (id, owner_id, name, secret_hash, expires_at, awaits_second_factor)
     values (?, ?, ?, ?, ?, ?)`,
    [id, actor.id, given.name, hashSecret(token), expiresAt, waits],
  );
  await em.execute(`insert into worker_token_agent (token_id, agent_id) select ?::uuid, unnest(?::uuid[])`, [
    id,
    arrayLiteral(agentIds),
  ]);
  const [record] = await em.execute<WorkerToken[]>(`${TOKENS} where t.id = ?`, [id]);
  if (!record) throw new Error('the token was not stored');
  return { token, record };
}

async function checkAgents(em: EntityManager, actor: Actor, agentIds: readonly string[]): Promise<void> {
  const rows = await em.execute<(Ownership & { id: string; tokens: number })[]>(
    `select a.id, a.owner_id, a.team_id, a.visibility,
            (select count(*)::int from worker_token_agent t where t.agent_id = a.id) as tokens
       from agent a where a.id = any(?::uuid[]) order by a.id for no key update of a`,
    [arrayLiteral(agentIds)],
  );
  for (const id of agentIds) {
    const agent = rows.find((row) => row.id === id);
    if (!agent || !maySeeAgent(actor, agent)) throw notFound('agent');
    if (!mayChangeAgent(actor, agent)) throw forbidden('Only the owner and admins may change this agent.');
    if (agent.tokens >= MAX_TOKENS_OF_AGENT)
      throw conflict('too_many_tokens', `An agent has at most ${MAX_TOKENS_OF_AGENT} worker tokens.`);
  }
}

const TOKENS = `select t.id, t.owner_id, t.name, t.created_at, t.expires_at, t.last_used,
    t.awaits_second_factor,
    array(select a.agent_id::text from worker_token_agent a where a.token_id = t.id order by 1) as agent_ids
  from worker_token t`;

/** Those that serve the agent, oldest first. */
export function listWorkerTokens(
  em: EntityManager,
  agentId: string,
  { after, limit }: KeysetPage,
): Promise<WorkerToken[]> {
  return em.execute(
    `${TOKENS} where exists (select from worker_token_agent a where a.token_id = t.id and a.agent_id = ?)
        and t.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
      order by t.id limit ?`,
    [agentId, after ?? null, limit],
  );
}

/** Ends it for this agent, and altogether if it serves no other one. At once. @throws 404 */
export async function deleteWorkerToken(em: EntityManager, agentId: string, id: string): Promise<void> {
  const gone = await em.execute<object[]>(
    `delete from worker_token_agent where token_id = ? and agent_id = ? returning 1`,
    [id, agentId],
  );
  if (gone.length === 0) throw notFound('worker token');
  await em.execute(
    `delete from worker_token t
      where t.id = ? and not exists (select from worker_token_agent a where a.token_id = t.id)`,
    [id],
  );
  await em.execute(`select pg_notify('account_change', '')`);
}

/** Whether a bearer token is one of a worker; it may be none that is valid. */
export function isWorkerToken(token: string): boolean {
  return PATTERN.test(token);
}

/** SQL: whether the user `u` may serve jobs of the agent `a`, with the role that the endpoints need. */
const MAY_SERVE = `u.status = 'active' and (
  'admin' = any(u.roles)
  or a.team_id is null and a.owner_id = u.id and 'builder' = any(u.roles)
  or a.team_id = any(rights_held(u.id)))`;

/**
 * SQL: the agents that a token serves now: its owner is active, and may still change them. Table names: `t`
 * the token, `a` the agent.
 */
const SERVES = `join worker_token_agent s on s.token_id = t.id
  join user_account u on u.id = t.owner_id
  join agent a on a.id = s.agent_id and ${MAY_SERVE}`;

/** Null for a token that is unknown, expired or revoked. */
export async function findWorker(em: EntityManager, token: string): Promise<WorkerCaller | null> {
  const rows = await em.execute<
    { id: string; name: string; waits: boolean; agent_id: string; is_edge: boolean }[]
  >(
    `select t.id, t.name, t.awaits_second_factor as waits, a.id as agent_id,
            coalesce(a.execution_type, a.type) = 'edge' as is_edge
       from worker_token t ${SERVES}
      where t.secret_hash = ? and t.expires_at > clock_timestamp()`,
    [hashSecret(token)],
  );
  const [first] = rows;
  if (!first) return null;
  const agentIds = new Set(rows.map(({ agent_id }) => agent_id));
  const otherKinds = new Set(rows.flatMap(({ agent_id, is_edge }) => (is_edge ? [] : [agent_id])));
  return { holder: `token:${first.id}`, name: first.name, agentIds, otherKinds, waits: first.waits };
}

/** @throws 403 `second_factor_required` */
export function refuseWaitingWorker({ waits }: Pick<WorkerCaller, 'waits'>): void {
  if (waits) throw waitingRefused();
}

function waitingRefused(): AppError {
  const detail =
    "A role of the token's owner needs a second factor: the token serves no jobs until its owner has one.";
  return forbidden(detail, 'second_factor_required');
}

/** Why a holder may have no jobs any more. */
export async function refusalOf(em: EntityManager, holder: string): Promise<AppError> {
  const waiting = await em.execute<object[]>(
    `select from worker_token t ${SERVES}
      where t.id = ? and t.expires_at > clock_timestamp() and t.awaits_second_factor limit 1`,
    [holder.startsWith('token:') ? tokenIdOf({ holder }) : null],
  );
  if (waiting.length > 0) return waitingRefused();
  return new AppError('unauthorized', 'invalid_token', "The worker's token is invalid or has expired.", {
    headers: { 'WWW-Authenticate': 'Bearer realm="cadenza", error="invalid_token"' },
  });
}

/** Of a caller with a token. */
export function tokenIdOf({ holder }: Pick<WorkerCaller, 'holder'>): string {
  return holder.slice('token:'.length);
}

/** SQL: whether a holder may have jobs of an agent; its `?`: the holder, and the agent's id. */
export const MAY_HOLD = `(
  select case split_part(h.holder, ':', 1)
    when 'token' then exists (
      select from worker_token t ${SERVES}
       where t.id = split_part(h.holder, ':', 2)::uuid and t.expires_at > clock_timestamp()
         and a.id = h.agent_id and not t.awaits_second_factor)
    else exists (
      select from user_account u join agent a on a.id = h.agent_id and ${MAY_SERVE}
       where u.id = split_part(h.holder, ':', 2)::uuid)
    end
    from (select ?::text as holder, ?::uuid as agent_id) h)`;

/** Notes when tokens were used last, and which workers have asked for jobs. */
export async function noteSeen(
  em: EntityManager,
  seen: readonly { agent_id: string; holder: string; worker: string }[],
): Promise<void> {
  if (seen.length === 0) return;
  const rows = JSON.stringify(seen);
  await em.execute(
    `insert into worker_seen (agent_id, holder, worker, seen_at)
     select s.agent_id, s.holder, s.worker, clock_timestamp()
       from json_to_recordset(?::json) as s (agent_id uuid, holder text, worker text)
       join agent a on a.id = s.agent_id
      order by 1, 2, 3
     on conflict (agent_id, holder, worker) do update set seen_at = excluded.seen_at`,
    [rows],
  );
  await em.execute(
    `update worker_token t set last_used = clock_timestamp()
      where t.id in (
        select w.id from worker_token w
         where w.id in (select distinct split_part(s.holder, ':', 2)::uuid
                          from json_to_recordset(?::json) as s (holder text) where s.holder like 'token:%')
         order by w.id for update)`,
    [rows],
  );
}
