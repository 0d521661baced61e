/**
 * Fills the outbox from the log of all runs. One reader at a time, by the lock on the cursor; what it read, what it wrote and
 * how far it came are one transaction.
 */
import type { EntityManager, Orm } from '../../db/orm.ts';
import type { Actor, Role } from '../auth/actor.ts';
import { cloudEventTypeOf } from '../events/cloud-event.ts';
import { readLog, type LogEvent } from '../events/log-reader.ts';
import { positionBefore, type Position } from '../events/position.ts';
import { matchesType } from '../events/type-filter.ts';
import { maySeeEvent, taskAudiences, taskOf } from '../events/visibility.ts';
import type { DeliveryKind, DeliveryKinds } from './kind.ts';
import { enqueue, type Outgoing } from './outbox.ts';
import { TARGET_COLUMNS, type DeliveryTarget } from './target.ts';

export interface FanOutDeps {
  orm: Orm;
  kinds: DeliveryKinds;
}

export interface FannedOut {
  /** Targets to wake. */
  due: string[];
  /** `more`: call again at once. `behind`: transactions still open hold events back. `done`: all was read. `unwanted`: nobody wants any. */
  state: 'more' | 'behind' | 'done' | 'unwanted';
}

const BATCH = 500;
const CURSOR = 'fan_out';

interface Watcher {
  target: DeliveryTarget;
  from: bigint;
  actor: Actor;
}

export async function fanOut({ orm, kinds }: FanOutDeps): Promise<FannedOut> {
  const em = orm.em.fork();
  const position = await readCursor(em);
  const [look] = await em.execute<{ events: boolean | null; targets: boolean }[]>(
    `select (select (e.tx, e.gpos) > (?::xid8, ?::bigint) from run_event e order by e.tx desc, e.gpos desc limit 1) as events,
            exists (select 1 from delivery_target where active) as targets`,
    [position.tx, position.gpos],
  );
  if (!look?.events) return { due: [], state: 'done' };
  if (!look.targets) {
    // Nobody wants them: a target that is not committed yet wants only what is not older than itself, which is not skipped.
    await skipAll(em);
    return { due: [], state: 'unwanted' };
  }
  return em.transactional((tx) => pass(tx, kinds));
}

async function pass(em: EntityManager, kinds: DeliveryKinds): Promise<FannedOut> {
  const [locked] = await em.execute<Position[]>(
    'select tx::text as tx, gpos::text as gpos from delivery_cursor where name = ? for update skip locked',
    [CURSOR],
  );
  if (!locked) return { due: [], state: 'behind' };
  const { events, oldestOpenTx, behind } = await readLog(em, locked, { limit: BATCH });
  const last = events.at(-1);
  if (!last) return { due: [], state: behind ? 'behind' : 'done' };
  const messages = await buildAll(em, kinds, events);
  const due: string[] = [];
  // By id: two who append to the same targets take them in the same order.
  for (const [targetId, outgoing] of [...messages].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if ((await enqueue(em, targetId, outgoing)).due) due.push(targetId);
  }
  const full = events.length === BATCH;
  await moveCursor(em, full ? last.position : positionBefore(oldestOpenTx));
  return { due, state: full ? 'more' : behind ? 'behind' : 'done' };
}

async function buildAll(em: EntityManager, kinds: DeliveryKinds, events: readonly LogEvent[]): Promise<Map<string, Outgoing[]>> {
  const audiences = await taskAudiences(em, events);
  const watchers = await watchersOf(em, events);
  const messages = new Map<string, Outgoing[]>();
  for (const event of events) {
    const tx = BigInt(event.position.tx);
    for (const { target, from, actor } of watchers) {
      const kind = kindOf(kinds, target);
      if (tx < from || !wants(target, event) || !maySeeEvent(actor, event, audiences)) continue;
      const built = await kind.build(em, event, target);
      const outgoing = built.map((message, part) => ({ ...message, run_id: event.run_id, seq: event.seq, part }));
      messages.set(target.id, [...(messages.get(target.id) ?? []), ...outgoing]);
    }
  }
  return messages;
}

/** A worker of an older version must not pass over what a newer one knows how to send: it leaves the events to that one. */
function kindOf(kinds: DeliveryKinds, { id, kind }: DeliveryTarget): DeliveryKind {
  const found = kinds[kind];
  if (!found) throw new Error(`delivery target ${id} is of kind ${kind}, which this version does not know`);
  return found;
}

function wants(target: DeliveryTarget, event: LogEvent): boolean {
  return (target.run_id === null || target.run_id === event.run_id) && matchesType(target.types, cloudEventTypeOf(event));
}

type WatcherRow = DeliveryTarget & { from_tx: string; username: string; roles: Role[]; groups: string[] };

/** Targets that any of the events could be for, with their owners as they are now. */
async function watchersOf(em: EntityManager, events: readonly LogEvent[]): Promise<Watcher[]> {
  const list = (ids: Iterable<string>): string => `{${[...new Set(ids)].join(',')}}`;
  const rows = await em.execute<WatcherRow[]>(
    `select ${TARGET_COLUMNS}, t.from_tx::text as from_tx, u.username, to_json(u.roles) as roles, to_json(u.groups) as groups
       from delivery_target t join user_account u on u.id = t.owner_id
      where t.active and u.status = 'active'
        and (t.run_id = any(?::uuid[]) or (t.run_id is null and (t.owner_id = any(?::uuid[]) or 'admin' = any(u.roles) or ?::boolean)))
      order by t.id`,
    [list(events.map(({ run_id }) => run_id)), list(events.map(({ run_owner_id }) => run_owner_id)), events.some((event) => taskOf(event) !== null)],
  );
  return rows.map(({ from_tx, username, roles, groups, ...target }) => ({
    target, from: BigInt(from_tx), actor: { id: target.owner_id, username, roles, groups },
  }));
}

async function readCursor(em: EntityManager): Promise<Position> {
  const [row] = await em.execute<Position[]>('select tx::text as tx, gpos::text as gpos from delivery_cursor where name = ?', [CURSOR]);
  return row ?? { tx: '0', gpos: '-1' };
}

async function moveCursor(em: EntityManager, { tx, gpos }: Position): Promise<void> {
  await em.execute('update delivery_cursor set tx = ?::xid8, gpos = ?::bigint where name = ?', [tx, gpos, CURSOR]);
}

async function skipAll(em: EntityManager): Promise<void> {
  await em.execute(
    `update delivery_cursor c set tx = s.oldest, gpos = -1 from (select pg_snapshot_xmin(pg_current_snapshot()) as oldest) s
      where c.name = ? and c.tx < s.oldest and not exists (select 1 from delivery_target where active)`,
    [CURSOR],
  );
}
