/**
 * Fills the outbox from the log of all runs. The lock on the cursor admits one reader at a time; one
 * transaction covers the events read, the messages written and the cursor's new position.
 */
import type { EntityManager, Orm } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { Role } from '../../contracts/roles.ts';
import { TEAMS_OF_USER, type Actor, type TeamRole } from '../auth/actor.ts';
import { holderOf } from '../auth/ownership.ts';
import { cloudEventTypesOf } from '../events/cloud-event.ts';
import { readLog, type LogEvent } from '../events/log-reader.ts';
import { positionBefore, type Position } from '../events/position.ts';
import { matchesType } from '../events/type-filter.ts';
import { maySeeEvent, taskAudiences, taskOf, type TaskAudiences } from '../events/visibility.ts';
import type { DueTarget } from '../ports.ts';
import type { DeliveryKind, DeliveryKinds } from './kind.ts';
import { enqueue, type Outgoing } from './outbox.ts';
import { TARGET_COLUMNS, type DeliveryTarget } from './target.ts';

export interface FanOutDeps {
  orm: Orm;
  kinds: DeliveryKinds;
}

export interface FannedOut {
  /** Targets that the caller wakes. */
  due: DueTarget[];
  /**
   * `more`: call again at once. `behind`: open transactions hold back later events. `done`: everything is
   * read. `unwanted`: there are no active targets.
   */
  state: 'more' | 'behind' | 'done' | 'unwanted';
}

const BATCH = 500;
/** Of messages and data: each target that wants them gets them all in its queue, in one transaction. */
const BATCH_BYTES = 1024 * 1024;
const CURSOR = 'fan_out';

interface Watcher {
  target: DeliveryTarget;
  from: bigint;
  actor: Actor;
}

export async function fanOut({ orm, kinds }: FanOutDeps): Promise<FannedOut> {
  const em = orm.em.fork();
  const position = await readCursor(em);
  const [look] = await em.execute<{ events: boolean; targets: boolean }[]>(
    `select log_after(?::xid8, ?::bigint) is not null as events,
            exists (select 1 from delivery_target where active) as targets`,
    [position.tx, position.gpos],
  );
  if (!look?.events) return { due: [], state: 'done' };
  if (!look.targets) {
    // No active target, so the events can be skipped. A target whose transaction is still open wants only
    // events from that transaction on; those are not skipped.
    await skipAll(em);
    return { due: [], state: 'unwanted' };
  }
  return em.transactional((tx) => fanOutBatch(tx, kinds));
}

async function fanOutBatch(em: EntityManager, kinds: DeliveryKinds): Promise<FannedOut> {
  const [locked] = await em.execute<Position[]>(
    'select tx::text as tx, gpos::text as gpos from delivery_cursor where name = ? for update skip locked',
    [CURSOR],
  );
  if (!locked) return { due: [], state: 'behind' };
  const limits = { limit: BATCH, bytes: BATCH_BYTES };
  const { events, isFull, oldestOpenTx, behind } = await readLog(em, locked, limits);
  const last = events.at(-1);
  if (!last) return { due: [], state: behind ? 'behind' : 'done' };
  const audiences = await taskAudiences(em, events);
  const due: DueTarget[] = [];
  // One after the other, so that the messages of one are in memory; in the order of ids, so that concurrent
  // writers lock the targets in the same order.
  for (const watcher of await watchersOf(em, events)) {
    const messages = await buildAll(em, kinds, events, watcher, audiences);
    const { target } = watcher;
    if ((await enqueue(em, target.id, messages)).due)
      due.push({ id: target.id, holder_id: holderOf(target) });
  }
  await moveCursor(em, isFull ? last.position : positionBefore(oldestOpenTx));
  return { due, state: isFull ? 'more' : behind ? 'behind' : 'done' };
}

async function buildAll(
  em: EntityManager,
  kinds: DeliveryKinds,
  events: readonly LogEvent[],
  { target, from, actor }: Watcher,
  audiences: TaskAudiences,
): Promise<Outgoing[]> {
  const kind = kindOf(kinds, target);
  const messages: Outgoing[] = [];
  for (const event of events) {
    const isWanted = BigInt(event.position.tx) >= from && wants(target, event);
    if (!isWanted || !maySeeEvent(actor, event, audiences)) continue;
    for (const [part, message] of (await kind.build(em, event, target, actor)).entries())
      messages.push({ ...message, run_id: event.run_id, seq: event.seq, part });
  }
  return messages;
}

/**
 * Fails on an unknown kind, so that a worker of an older version leaves the events to a newer one instead of
 * skipping them.
 */
function kindOf(kinds: DeliveryKinds, { id, kind }: DeliveryTarget): DeliveryKind {
  const found = kinds[kind];
  if (!found) throw new Error(`delivery target ${id} is of kind ${kind}, which this version does not know`);
  return found;
}

function wants(target: DeliveryTarget, event: LogEvent): boolean {
  return (
    (target.run_id === null || target.run_id === event.run_id) &&
    cloudEventTypesOf(event).some((type) => matchesType(target.types, type))
  );
}

type WatcherRow = DeliveryTarget & {
  from_tx: string;
  username: string;
  roles: Role[];
  groups: string[];
  teams: TeamRole[];
};

/** Targets that any of the events could concern, with their owners' current roles and groups. */
async function watchersOf(em: EntityManager, events: readonly LogEvent[]): Promise<Watcher[]> {
  const list = (ids: Iterable<string>): string => arrayLiteral(new Set(ids));
  const owners = events.map(({ run_owner_id }) => run_owner_id);
  const teams = events.flatMap(({ run_team_id }) => run_team_id ?? []);
  const rows = await em.execute<WatcherRow[]>(
    `select ${TARGET_COLUMNS}, t.from_tx::text as from_tx,
            u.username, to_json(u.roles) as roles, to_json(u.groups) as groups,
            ${TEAMS_OF_USER}
       from delivery_target t join user_account u on u.id = t.owner_id
      where t.active and (u.status = 'active' or t.team_id is not null)
        and (t.run_id = any(?::uuid[])
             or (t.run_id is null
                 and (t.holder_id = any(?::uuid[]) or 'admin' = any(u.roles)
                       or t.owner_id in (select m.user_id from team_member m where m.team_id = any(?::uuid[]))
                       or ?::boolean)))
      order by t.id`,
    [
      list(events.map(({ run_id }) => run_id)),
      list([...owners, ...teams]),
      list(teams),
      events.some((event) => taskOf(event) !== null),
    ],
  );
  return rows.map(({ from_tx, username, roles, groups, teams: memberships, ...target }) => ({
    target,
    from: BigInt(from_tx),
    actor:
      target.team_id === null
        ? { id: target.owner_id, username, roles, groups, teams: memberships }
        : teamAsActor(target.team_id),
  }));
}

/** A team's webhook gets the events of the team's runs, whoever has made it. */
function teamAsActor(id: string): Actor {
  return { id, username: '', roles: [], groups: [], teams: [{ id, role: 'builder' }] };
}

async function readCursor(em: EntityManager): Promise<Position> {
  const [row] = await em.execute<Position[]>(
    'select tx::text as tx, gpos::text as gpos from delivery_cursor where name = ?',
    [CURSOR],
  );
  return row ?? { tx: '0', gpos: '-1' };
}

async function moveCursor(em: EntityManager, { tx, gpos }: Position): Promise<void> {
  await em.execute('update delivery_cursor set tx = ?::xid8, gpos = ?::bigint where name = ?', [
    tx,
    gpos,
    CURSOR,
  ]);
}

async function skipAll(em: EntityManager): Promise<void> {
  await em.execute(
    `update delivery_cursor c set tx = s.oldest, gpos = -1
       from (select oldest_open_transaction() as oldest) s
      where c.name = ? and c.tx < s.oldest and not exists (select 1 from delivery_target where active)`,
    [CURSOR],
  );
}
