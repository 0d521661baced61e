/**
 * Event sources: who may send events of a `source` to the workflows of a user or a team, and whose workflows
 * may read their events of it.
 */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, type KeysetPage } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf, listedBy, mayChange, type HolderFilter } from '../auth/ownership.ts';
import { AppError, conflict, forbidden, invalid, notFound } from '../errors.ts';
import { checkMove, giveTo, type Destination } from '../teams/holding.ts';
import type { EventSender } from './inbound.ts';

export interface EventSource {
  id: string;
  owner_id: string;
  team_id: string | null;
  source: string;
  /** Only this client may send it: one of the owner, or of who has bound it for the team. */
  client_id: string | null;
  /** Only this user may send it. */
  user_id: string | null;
  /** Users whose workflows may read the owner's events of it, if they list the owner. */
  shared_with: string[];
  description: string | null;
  created_at: Date;
  updated_at: Date;
}

export type SourceFields = Pick<
  EventSource,
  'source' | 'client_id' | 'user_id' | 'shared_with' | 'description'
>;

const COLUMNS = `id, owner_id, team_id, source, client_id, user_id, to_json(shared_with) as shared_with,
  description,
  created_at, updated_at`;

/** @throws 409 for a source that has one, 422 */
export async function createSource(
  em: EntityManager,
  actor: Actor,
  { team_id: teamId, ...fields }: SourceFields & Pick<EventSource, 'team_id'>,
): Promise<string> {
  await checkBinding(em, actor.id, fields);
  const id = uuidv7();
  const rows = await em.execute<object[]>(
    `insert into event_source (id, owner_id, team_id, source, client_id, user_id, shared_with, description)
     values (?, ?, ?, ?, ?, ?, ?::uuid[], ?) on conflict (holder_id, source) do nothing returning 1`,
    [
      id,
      actor.id,
      teamId,
      fields.source,
      fields.client_id,
      fields.user_id,
      arrayLiteral(fields.shared_with),
      fields.description,
    ],
  );
  if (rows.length === 0) throw alreadyThere();
  return id;
}

function alreadyThere(): AppError {
  return conflict('source_exists', 'There is a record of this source already: change that one.');
}

/** Visible to its owner or the builders of its team, and admins. @throws 404 */
export async function getSource(
  em: EntityManager,
  actor: Actor,
  id: string,
  { lock = false } = {},
): Promise<EventSource> {
  const [row] = await em.execute<EventSource[]>(
    `select ${COLUMNS} from event_source where id = ?${lock ? ' for update' : ''}`,
    [id],
  );
  if (!row || !mayChange(actor, row)) throw notFound('event source');
  return row;
}

/** One of the holder's, locked. */
export async function findOwnSource(
  em: EntityManager,
  holderId: string,
  id: string,
): Promise<EventSource | null> {
  const [row] = await em.execute<EventSource[]>(
    `select ${COLUMNS} from event_source where id = ? and holder_id = ? for update`,
    [id, holderId],
  );
  return row ?? null;
}

/** The holder's record of a source. */
export async function findOwnSourceOf(
  em: EntityManager,
  holderId: string,
  source: string,
): Promise<EventSource | null> {
  const [row] = await em.execute<EventSource[]>(
    `select ${COLUMNS} from event_source where holder_id = ? and source = ?`,
    [holderId, source],
  );
  return row ?? null;
}

/** The caller's own, and those of teams where they are a builder, newest first. Admins see everyone's. */
export async function listSources(
  em: EntityManager,
  actor: Actor,
  filter: HolderFilter,
  page: KeysetPage,
): Promise<EventSource[]> {
  const where = listedBy(actor, 's', filter);
  if (page.after !== undefined) where.add('s.id < ?::uuid', page.after);
  return em.execute<EventSource[]>(
    `select ${COLUMNS} from event_source s where ${where.sql} order by s.id desc limit ?`,
    [...where.values, page.limit],
  );
}

export async function updateSource(
  em: EntityManager,
  before: EventSource,
  fields: SourceFields,
): Promise<void> {
  await checkBinding(em, before.owner_id, fields);
  const taken = await em.execute<object[]>(
    'select from event_source where holder_id = ? and source = ? and id <> ?',
    [holderOf(before), fields.source, before.id],
  );
  if (taken.length > 0) throw alreadyThere();
  await em.execute(
    `update event_source set source = ?, client_id = ?, user_id = ?, shared_with = ?::uuid[], description = ?,
            updated_at = clock_timestamp() where id = ?`,
    [
      fields.source,
      fields.client_id,
      fields.user_id,
      arrayLiteral(fields.shared_with),
      fields.description,
      before.id,
    ],
  );
}

/**
 * Gives it, as `named`, to a team or a person. What only the person who has it could send, the person who
 * gets it can. @returns it, of its new holder @throws 403, 409, 422
 */
export async function moveSource(
  em: EntityManager,
  actor: Actor,
  source: EventSource,
  { to, named }: { to: Destination; named: string },
): Promise<EventSource> {
  // First, so that nobody learns what a team that is not theirs has.
  const team = await checkMove(em, actor, source, to.team);
  const taken = await em.execute<object[]>('select from event_source where holder_id = ? and source = ?', [
    team ?? to.owner ?? actor.id,
    named,
  ]);
  if (taken.length > 0) throw alreadyThere();
  // In one statement, as either holder may have another of the old or of the new name.
  const moved = await giveTo(em, actor, 'event_source', source, team, { owner: to.owner, source: named });
  const isOwners = to.owner !== undefined && source.team_id === null && source.user_id === source.owner_id;
  return {
    ...source,
    source: named,
    user_id: isOwners ? moved.owner_id : source.user_id,
    owner_id: moved.owner_id,
    team_id: moved.team_id,
  };
}

export async function deleteSource(em: EntityManager, { id }: EventSource): Promise<void> {
  await em.execute('delete from event_source where id = ?', [id]);
}

/**
 * Those that the new owner has already stay theirs. What only the former owner could send, the new one can.
 */
export async function handOverSources(
  em: EntityManager,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await em.execute(
    `update event_source s set owner_id = ?, user_id = case when user_id = ? then ?::uuid else user_id end
      where s.holder_id = ?
        and not exists (select from event_source o where o.holder_id = ? and o.source = s.source)`,
    [to, from, to, from, to],
  );
}

async function checkBinding(
  em: EntityManager,
  ownerId: string,
  { client_id: clientId, user_id: userId }: SourceFields,
): Promise<void> {
  if (clientId !== null && userId !== null)
    throw invalid([
      { pointer: '/user_id', code: 'not_allowed', message: 'cannot be combined with client_id' },
    ]);
  const [found] = await em.execute<{ client: boolean; person: boolean }[]>(
    `select ?::text is null or exists (
              select from auth_client where user_id = ? and id::text = ?) as client,
            ?::uuid is null or exists (select from user_account where id = ?::uuid) as person`,
    [clientId, ownerId, clientId, userId, userId],
  );
  const unknown = !found?.client ? 'client_id' : !found.person ? 'user_id' : null;
  if (unknown === null) return;
  const message = unknown === 'client_id' ? 'is not one of your machine clients' : 'is not a user';
  throw invalid([{ pointer: `/${unknown}`, code: 'unknown', message }]);
}

/**
 * @throws 403 if one of the sources is bound to another sender; 422 for sources of the platform itself
 */
export async function checkSources(
  em: EntityManager,
  sender: EventSender,
  sources: readonly string[],
  { baseUrl, pointer }: { baseUrl: string; pointer: (index: number) => string },
): Promise<void> {
  const own = sources.findIndex((source) => isPlatformSource(source, baseUrl));
  if (own >= 0)
    throw invalid([
      {
        pointer: pointer(own),
        code: 'reserved_source',
        message: 'is a source of events that the platform itself sends',
      },
    ]);
  const bound = await boundSource(em, sender, sources);
  if (bound !== null)
    throw forbidden(
      `Events of the source ${JSON.stringify(bound)} are accepted from another sender only.`,
      'source_bound',
    );
}

/** The first of the sources that the user or team takes from another sender only; null if it takes all. */
export async function boundSource(
  em: EntityManager,
  sender: EventSender,
  sources: readonly string[],
): Promise<string | null> {
  const [bound] = await em.execute<{ source: string }[]>(
    `select source from event_source
      where holder_id = ? and source = any(?::text[])
        and (client_id <> coalesce(?, '') or user_id <> ?::uuid) limit 1`,
    [
      sender.owner_id,
      arrayLiteral(new Set(sources)),
      sender.client_id ?? null,
      sender.user_id ?? sender.owner_id,
    ],
  );
  return bound?.source ?? null;
}

/** @throws 422 for a source that nobody can bind or share */
export function checkForeignSource(source: string, baseUrl: string): void {
  if (isPlatformSource(source, baseUrl))
    throw invalid([
      { pointer: '/source', code: 'reserved_source', message: 'is a source of the platform itself' },
    ]);
}

/** Runs and inbound webhooks are sources of events that nobody else may send. */
export function isPlatformSource(source: string, baseUrl: string): boolean {
  return source.startsWith(`${baseUrl}/runs/`) || source.startsWith(`${baseUrl}/hooks/`);
}
