/** Inbound webhooks: addresses to which other services send their webhooks. */
import { v7 as uuidv7 } from 'uuid';

import type { HookRefusal, HookScheme } from '../../contracts/hooks.ts';
import { secretEndpoint } from '../../contracts/secret-endpoint.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { holderOf, listedBy, mayChange, type HolderFilter } from '../auth/ownership.ts';
import { invalid, notFound } from '../errors.ts';
import { checkSources, isPlatformSource } from '../events/sources.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { resolveSecret } from '../secrets/service.ts';
import { secretProblem } from './verify.ts';

export interface Hook {
  id: string;
  owner_id: string;
  team_id: string | null;
  name: string;
  scheme: HookScheme;
  /** Names of secrets of the owner or the team. Calls may be signed with either. */
  secret: string;
  former_secret: string | null;
  /** Of the events. */
  source: string;
  /** Of the events; null: derived from the call. */
  event_type: string | null;
  tolerance_seconds: number;
  active: boolean;
  last_received_at: Date | null;
  last_refused_at: Date | null;
  last_refusal: HookRefusal | null;
  created_at: Date;
  updated_at: Date;
}

export type HookFields = Pick<
  Hook,
  'name' | 'scheme' | 'secret' | 'former_secret' | 'event_type' | 'tolerance_seconds' | 'active'
> & {
  /** Null: the address of the webhook. */
  source: string | null;
};

const COLUMNS = `h.id, h.owner_id, h.team_id, h.name,
  h.scheme, h.secret, h.former_secret, h.source, h.event_type,
  h.tolerance_seconds, h.active, h.last_received_at, h.last_refused_at, h.last_refusal, h.created_at,
  h.updated_at`;

interface HookContext {
  em: EntityManager;
  encryption: Encryption;
  baseUrl: string;
}

/** @throws 403, 422 */
export async function createHook(
  context: HookContext,
  actor: Actor,
  { team_id: teamId, ...fields }: HookFields & Pick<Hook, 'team_id'>,
): Promise<string> {
  const id = uuidv7();
  const source = await checkFields(context, actor, { id, owner_id: actor.id, team_id: teamId }, fields);
  await context.em.execute(
    `insert into inbound_hook (id, owner_id, team_id, name, scheme, secret, former_secret, source, event_type,
                               tolerance_seconds, active)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      id,
      actor.id,
      teamId,
      fields.name,
      fields.scheme,
      fields.secret,
      fields.former_secret,
      source,
      fields.event_type,
      fields.tolerance_seconds,
      fields.active,
    ],
  );
  return id;
}

/** Visible to its owner or the builders of its team, and admins. @throws 404 */
export async function getHook(
  em: EntityManager,
  actor: Actor,
  id: string,
  { lock = false } = {},
): Promise<Hook> {
  const [row] = await em.execute<Hook[]>(
    `select ${COLUMNS} from inbound_hook h where h.id = ?${lock ? ' for update' : ''}`,
    [id],
  );
  if (!row || !mayChange(actor, row)) throw notFound('inbound webhook');
  return row;
}

/** One of the holder's, locked. */
export async function findOwnHook(em: EntityManager, holderId: string, id: string): Promise<Hook | null> {
  const [row] = await em.execute<Hook[]>(
    `select ${COLUMNS} from inbound_hook h where h.id = ? and h.holder_id = ? for update`,
    [id, holderId],
  );
  return row ?? null;
}

/** The holder's with this name, oldest first, at most 10. */
export async function findOwnHooksByName(em: EntityManager, holderId: string, name: string): Promise<Hook[]> {
  return em.execute<Hook[]>(
    `select ${COLUMNS} from inbound_hook h where h.holder_id = ? and h.name = ? order by h.id limit 10`,
    [holderId, name],
  );
}

/** For a call without a token. What a team holds goes on when the account of its owner is disabled. */
export async function findHook(
  em: EntityManager,
  id: string,
): Promise<(Hook & { owner_active: boolean }) | null> {
  const [row] = await em.execute<(Hook & { owner_active: boolean })[]>(
    `select ${COLUMNS}, h.team_id is not null or u.status = 'active' as owner_active
       from inbound_hook h join user_account u on u.id = h.owner_id where h.id = ?`,
    [id],
  );
  return row ?? null;
}

/** The caller's own, and those of teams where they are a builder, newest first. Admins see everyone's. */
export async function listHooks(
  em: EntityManager,
  actor: Actor,
  filter: HolderFilter,
  page: KeysetPage,
): Promise<Hook[]> {
  const where = listedBy(actor, 'h', filter);
  if (page.after !== undefined) where.add('h.id < ?::uuid', page.after);
  return em.execute<Hook[]>(
    `select ${COLUMNS} from inbound_hook h where ${where.sql} order by h.id desc limit ?`,
    [...where.values, page.limit],
  );
}

/** `isMoved`: nothing of it has been checked for its holder. @throws 403, 422 */
export async function updateHook(
  context: HookContext,
  actor: Actor,
  before: Hook,
  fields: HookFields,
  { isMoved = false } = {},
): Promise<void> {
  const source = await checkFields(context, actor, before, fields, isMoved ? undefined : before);
  await context.em.execute(
    `update inbound_hook
        set name = ?, scheme = ?, secret = ?, former_secret = ?, source = ?, event_type = ?,
            tolerance_seconds = ?, active = ?, updated_at = clock_timestamp()
      where id = ?`,
    [
      fields.name,
      fields.scheme,
      fields.secret,
      fields.former_secret,
      source,
      fields.event_type,
      fields.tolerance_seconds,
      fields.active,
      before.id,
    ],
  );
}

/** Of more refusals within this time, the first is kept: anybody can call an address. */
const REFUSAL_SECONDS = 5;

/** Keeps why a call was refused, for the owner. */
export async function noteRefusal(em: EntityManager, id: string, reason: HookRefusal): Promise<void> {
  await em.execute(
    `update inbound_hook set last_refused_at = clock_timestamp(), last_refusal = ?
      where id = ? and (last_refused_at is null
                        or last_refused_at < clock_timestamp() - ? * interval '1 second')`,
    [reason, id, REFUSAL_SECONDS],
  );
}

/** Its secrets may be gone. */
export async function deactivateHook(em: EntityManager, { id }: Hook): Promise<void> {
  await em.execute('update inbound_hook set active = false, updated_at = clock_timestamp() where id = ?', [
    id,
  ]);
}

export async function deleteHook(em: EntityManager, { id }: Hook): Promise<void> {
  await em.execute('delete from inbound_hook where id = ?', [id]);
}

/** Secrets that were renamed when their owner's things were handed over keep their meaning. */
export async function handOverHooks(
  em: EntityManager,
  { from, to }: { from: string; to: string },
  renamed: Readonly<Record<string, string>>,
): Promise<void> {
  await em.execute(
    `update inbound_hook
        set owner_id = ?, secret = coalesce(?::jsonb ->> secret, secret),
            former_secret = coalesce(?::jsonb ->> former_secret, former_secret)
      where holder_id = ?`,
    [to, JSON.stringify(renamed), JSON.stringify(renamed), from],
  );
}

/** Also the source of the events of an inbound webhook that names none. */
export const hookAddress = (baseUrl: string, id: string): string => `${baseUrl}/hooks/${id}`;

/** @returns the source */
async function checkFields(
  { em, encryption, baseUrl }: HookContext,
  actor: Actor,
  hook: Pick<Hook, 'id' | 'owner_id' | 'team_id'>,
  fields: HookFields,
  before?: Hook,
): Promise<string> {
  // A webhook whose secret is gone can still be renamed and turned off, and get another secret.
  const isKept = before?.scheme === fields.scheme && (before.active || !fields.active);
  const known = { secret: [before?.secret], former_secret: [before?.secret, before?.former_secret] };
  for (const key of ['secret', 'former_secret'] as const) {
    const name = fields[key];
    if (name === null || (isKept && known[key].includes(name))) continue;
    const value = await resolveSecret(em, encryption, holderOf(hook), name);
    const whose = hook.team_id === null ? 'owner' : 'team';
    const message =
      value === null
        ? `names no secret of the ${whose}: store it with ${secretEndpoint(name, hook.team_id)}`
        : problemOf(fields.scheme, name, value);
    if (message !== null) throw invalid([{ pointer: `/${key}`, code: 'invalid_secret', message }]);
  }
  const own = hookAddress(baseUrl, hook.id);
  const source = fields.source ?? own;
  if (source === own) return own;
  if (source === before?.source && isPlatformSource(source, baseUrl)) return own;
  const isSame = SENDING.every((name) => fields[name] === before?.[name]);
  // Whoever decides what is sent, or who signs it, has to be one who may send it.
  const senders = isSame ? [] : isAdmin(actor) ? [hook.owner_id] : [hook.owner_id, actor.id];
  for (const userId of new Set(senders)) {
    const sender = { owner_id: holderOf(hook), user_id: userId };
    await checkSources(em, sender, [source], { baseUrl, pointer: () => '/source' });
  }
  return source;
}

/** What decides who sends which events. */
const SENDING = ['source', 'scheme', 'secret', 'former_secret'] as const;

function problemOf(scheme: HookFields['scheme'], name: string, value: string): string | null {
  const problem = secretProblem(scheme, value);
  return problem === null ? null : `the value of ${name} ${problem}`;
}
