/** Absences: a deputy may decide the human tasks of somebody else (docs/human-tasks.md#absence). */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import { conflict, forbidden, invalid, notFound } from '../errors.ts';
import { hasRole, isAdmin, limitRoles, TEAMS_OF_USER, type AbsentPerson, type Actor } from './actor.ts';

export interface Absence {
  id: string;
  user_id: string;
  user_name: string;
  deputy_id: string;
  deputy_name: string;
  from_at: Date;
  until_at: Date;
  note: string | null;
  created_at: Date;
}

export interface NewAbsence {
  /** Null: the actor's own. */
  userId: string | null;
  /** By id or username. */
  deputy: string;
  from: Date;
  until: Date;
  note: string | null;
}

const MAX_ABSENCES = 50;
/** A longer absence is a handover: `POST /users/{id}/transfer`. */
const MAX_DAYS = 366;

const COLUMNS = `a.id, a.user_id, coalesce(u.display_name, u.username) as user_name, a.deputy_id,
  coalesce(d.display_name, d.username) as deputy_name, a.from_at, a.until_at, a.note, a.created_at`;
const FROM = `absence a join user_account u on u.id = a.user_id join user_account d on d.id = a.deputy_id`;

/** Those that the actor is in, as the absent person or the deputy; admins see all. Newest first. */
export async function listAbsences(
  em: EntityManager,
  actor: Actor,
  { user_id: userId, current }: { user_id?: string | undefined; current?: boolean | undefined },
  page: KeysetPage,
): Promise<Absence[]> {
  const where = new Conditions();
  if (!isAdmin(actor)) where.add('(a.user_id = ? or a.deputy_id = ?)', actor.id, actor.id);
  if (userId !== undefined) where.add('a.user_id = ?', userId);
  if (current === true) where.add('a.from_at <= clock_timestamp() and a.until_at > clock_timestamp()');
  if (page.after !== undefined) where.add('a.id < ?::uuid', page.after);
  return em.execute<Absence[]>(
    `select ${COLUMNS} from ${FROM} where ${where.sql} order by a.id desc limit ?`,
    [...where.values, page.limit],
  );
}

/** Of the actor, and for admins of anybody. @throws 403, 409, 422 */
export async function createAbsence(em: EntityManager, actor: Actor, given: NewAbsence): Promise<Absence> {
  const userId = given.userId ?? actor.id;
  if (userId !== actor.id && !isAdmin(actor))
    throw forbidden("Only admins set up other people's absences.", 'role_required');
  const people = await em.execute<(Actor & { status: string })[]>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, status from user_account
      where id = ? or id::text = lower(?) or lower(username) = lower(?) order by id for no key update`,
    [userId, given.deputy, given.deputy],
  );
  const absent = people.find(({ id }) => id === userId);
  if (absent === undefined) throw refuse('/user_id', 'unknown_user', 'is not a user');
  const { deputy: name } = given;
  const deputy =
    people.find(({ id }) => id === name.toLowerCase()) ??
    people.find(({ username }) => username.toLowerCase() === name.toLowerCase());
  if (deputy?.status !== 'active') throw refuse('/deputy', 'unknown_user', 'is not an active user');
  if (deputy.id === userId) throw refuse('/deputy', 'same_person', 'is the absent person');
  if (!hasRole(deputy, 'approver'))
    throw refuse('/deputy', 'cannot_decide', 'may not decide: the role approver is missing');
  checkPeriod(given);
  await checkFree(em, userId, given);
  const id = uuidv7();
  await em.execute(
    `insert into absence (id, user_id, deputy_id, from_at, until_at, note, created_by)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [id, userId, deputy.id, given.from, given.until, given.note, actor.id],
  );
  return findAbsence(em, id);
}

function checkPeriod({ from, until }: NewAbsence): void {
  if (until <= from) throw refuse('/until', 'empty_period', 'must be after from');
  if (until.getTime() <= Date.now()) throw refuse('/until', 'in_the_past', 'is in the past');
  if (until.getTime() - from.getTime() > MAX_DAYS * 86_400_000)
    throw refuse('/until', 'too_long', `may be at most ${MAX_DAYS} days after from`);
}

/** One deputy at a time. The absent person's row is locked. */
async function checkFree(em: EntityManager, userId: string, { from, until }: NewAbsence): Promise<void> {
  const others = await em.execute<{ overlaps: boolean }[]>(
    `select from_at < ? and until_at > ? as overlaps from absence
      where user_id = ? and until_at > clock_timestamp()`,
    [until, from, userId],
  );
  if (others.some(({ overlaps }) => overlaps))
    throw conflict('absence_overlaps', 'There is another absence in this period: end it first.');
  if (others.length >= MAX_ABSENCES) throw conflict('too_many_absences', `The limit is ${MAX_ABSENCES}.`);
}

async function findAbsence(em: EntityManager, id: string): Promise<Absence> {
  const [row] = await em.execute<Absence[]>(`select ${COLUMNS} from ${FROM} where a.id = ?`, [id]);
  if (!row) throw notFound('absence');
  return row;
}

/** Ends a current absence now, or removes a future one. @throws 404 if the actor is no party, nor an admin */
export async function endAbsence(em: EntityManager, actor: Actor, id: string): Promise<void> {
  const absence = await findAbsence(em, id);
  const isParty = absence.user_id === actor.id || absence.deputy_id === actor.id;
  if (!isParty && !isAdmin(actor)) throw notFound('absence');
  await em.execute(
    `with ended as (
       update absence set until_at = clock_timestamp()
        where id = ? and from_at < clock_timestamp() and until_at > clock_timestamp())
     delete from absence where id = ? and from_at >= clock_timestamp()`,
    [id, id],
  );
}

/** SQL: the absent people whose deputy the user `?` is now, for `asDeputy`. */
export const ABSENT_PEOPLE = `
  select u.id, u.username, to_json(u.roles) as roles, to_json(u.groups) as groups,
         ${TEAMS_OF_USER}, to_char(a.from_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as since
    from absence a join user_account u on u.id = a.user_id
   where a.deputy_id = ?::uuid and a.from_at <= clock_timestamp() and a.until_at > clock_timestamp()
     and u.status = 'active'
   order by u.id limit 20`;

const ABSENT = new Prepared(ABSENT_PEOPLE);

/**
 * The actor with the absent people whose deputy they are now: one step, so without those people's own. A
 * deputy has the rights of an approver, so nobody gets an admin's rights by being a deputy.
 */
export async function withAbsentPeople(em: EntityManager, actor: Actor): Promise<Actor> {
  if (!hasRole(actor, 'approver')) return actor;
  return asDeputy(actor, await ABSENT.execute<AbsentPerson>(em, [actor.id]));
}

/** As `withAbsentPeople`, with rows that were read. */
export function asDeputy(actor: Actor, rows: readonly AbsentPerson[]): Actor {
  if (!hasRole(actor, 'approver')) return actor;
  const people = rows
    .map((person) => ({ ...person, roles: limitRoles(person.roles, 'builder') }))
    .filter((person) => hasRole(person, 'approver'));
  return people.length === 0 ? actor : { ...actor, deputyFor: people };
}

const KEPT_MS = 1_000;
const kept = new WeakMap<Actor, { withPeople: Actor; untilMs: number }>();

/** For reads: as it was at most a second ago, for a caller who is kept that long (known-callers.ts). */
export async function withKeptAbsentPeople(em: EntityManager, actor: Actor): Promise<Actor> {
  const before = kept.get(actor);
  if (before !== undefined && before.untilMs > performance.now()) return before.withPeople;
  const untilMs = performance.now() + KEPT_MS;
  const withPeople = await withAbsentPeople(em, actor);
  kept.set(actor, { withPeople, untilMs });
  return withPeople;
}

function refuse(pointer: string, code: string, message: string) {
  return invalid([{ pointer, code, message }]);
}
