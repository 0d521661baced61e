/** The filtered lists of the API over `insertManyRows`, for their plans and their times. */
import type { EntityManager } from '../../db/orm.ts';
import type { ManyRows } from './many-rows.ts';

/** The ids that the lists name: of a row in the middle, or of the first. */
export async function idsOfLists(em: EntityManager, rows: ManyRows): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const [table, n] of [
    ['users', 1],
    ['workflows', 8],
    ['agents', 1],
    ['runs', 15_000],
    ['tasks', 5_000],
    ['deliveries', 1],
    ['others', 1],
  ] as const) {
    const [row] = await em.execute<{ id: string }[]>(`select ${rows.idOf(table, String(n))} as id`);
    ids.set(table, row?.id ?? '');
  }
  return ids;
}

/** Gives a user what the person with the number 1 has, and makes them a builder of the first team. */
export async function giveRows(em: EntityManager, ids: Map<string, string>, userId: string): Promise<void> {
  for (const [table, column] of [
    ['workflow', 'owner_id'],
    ['agent', 'owner_id'],
    ['file', 'owner_id'],
    ['run', 'owner_id'],
    ['hitl_task', 'owner_id'],
    ['marketplace_item', 'publisher_id'],
    ['notification', 'user_id'],
    ['delivery_target', 'owner_id'],
    ['chat_session', 'owner_id'],
    ['inbound_event', 'owner_id'],
    ['inbound_hook', 'owner_id'],
    ['event_source', 'owner_id'],
  ])
    await em.execute(`update ${table} set ${column} = ? where ${column} = ?`, [userId, ids.get('users')]);
  await em.execute(
    `insert into team_member (team_id, user_id, role, added_by)
     select id, ?::uuid, 'builder', created_by from team where id = ?`,
    [userId, ids.get('others')],
  );
  await em.execute('analyze');
}

export function withIds(path: string, ids: Map<string, string>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, table: string) => ids.get(table) ?? '');
}

/**
 * All filtered lists of rows that end at a time; `test/unit/lists/filters.test.ts` has the reasons for what
 * is left out. `{table}` in a path is one of `idsOfLists`.
 * @returns who asks, for what, and how many rows of large tables may be read, if not 1,000
 */
export function filteredLists(endMs: number): [who: 'admin' | 'person', path: string, most?: number][] {
  const day = (days: number): string => new Date(endMs + days * 24 * 3_600_000).toISOString();
  // Half a day, in the middle of the year.
  const [from, to, end] = [day(-200), day(-199.5), day(0)];
  return [
    ...(['admin', 'person'] as const).flatMap((who): [typeof who, string][] => [
      [who, '/runs'],
      [who, '/runs?q=payment+2707'],
      [who, '/runs?q=approval'],
      [who, '/runs?q=nothing+like+it'],
      [who, `/runs?created_before=${from}`],
      [who, `/runs?created_after=${from}&created_before=${to}`],
      [who, `/runs?created_after=${end}`],
      [who, '/runs?status=faulted'],
      [who, `/runs?status=completed&created_before=${from}`],
      [who, '/runs?workflow_id={workflows}'],
      [who, '/runs?agent_id={agents}'],
      [who, '/runs?run_tag=tag-700'],
      [who, '/runs?label=number%3D700'],
      [who, '/runs?key=key-700'],
      [who, '/runs?tag=tag-7'],
      [who, '/runs?parent_run_id={runs}'],
      [who, '/runs?q={runs}'],
      [who, '/runs?team_id={others}'],
      [who, '/hitl/tasks'],
      [who, '/hitl/tasks?q=claim+payment+2708'],
      [who, '/hitl/tasks?q=nothing+like+it'],
      [who, '/hitl/tasks?sort=created&q=review'],
      [who, '/hitl/tasks?status=decided'],
      [who, '/hitl/tasks?priority=40'],
      [who, '/hitl/tasks?overdue=true'],
      [who, `/hitl/tasks?sort=due&due_before=${end}`],
      [who, '/hitl/tasks?claimed_by=me'],
      [who, '/hitl/tasks?run_id={runs}'],
      [who, '/hitl/tasks?team_id={others}'],
      [who, '/agents?q=payment+2707'],
      [who, '/agents?q=nothing+like+it'],
      [who, '/agents?type=a2a'],
      [who, '/agents?status=deprecated'],
      [who, '/agents?tag=tag-7'],
      [who, '/agents?capability=capability-7'],
      [who, '/agents?modality=modality-7'],
      [who, '/agents?name=invoice+approval+9000'],
      [who, '/agents?name=invoice+approval+9000&version=1.0.0'],
      [who, '/agents?visibility=private'],
      [who, '/agents?visibility=public'],
      [who, '/agents?owner_id={users}'],
      [who, '/agents?team_id={others}'],
      [who, '/workflows?q=payment+2707'],
      [who, '/workflows?q=nothing+like+it'],
      [who, '/workflows?tag=tag-7'],
      [who, '/workflows?visibility=private'],
      [who, '/workflows?visibility=public'],
      [who, '/workflows?owner_id={users}'],
      [who, '/workflows?team_id={others}'],
      [who, '/startable-workflows?q=payment+2707'],
      [who, '/startable-workflows?granted=true'],
      [who, '/marketplace/items?q=payment+2707'],
      [who, '/marketplace/items?q=nothing+like+it'],
      [who, '/marketplace/items?tag=tag-7'],
      [who, '/marketplace/items?category=category-7'],
      [who, '/marketplace/items?kind=workflow'],
      [who, '/marketplace/items?kind=agent'],
      [who, '/marketplace/items?publisher={users}'],
      [who, '/marketplace/items?ref_id={workflows}'],
      [who, '/marketplace/items?waiting=true'],
      [who, '/marketplace/items?sort=installs'],
      [who, '/marketplace/items?sort=rating'],
      [who, '/files?q=payment+2707'],
      [who, '/files?q=nothing+like+it'],
      [who, '/files?owner_id={users}'],
      [who, '/files?team_id={others}'],
      [who, '/files?visibility=private'],
      [who, '/files?visibility=public'],
      [who, `/files?sha256=${'0'.repeat(64)}`],
      [who, '/files?run_id={runs}'],
      [who, '/users/directory?q=person-2707'],
      [who, '/users/directory?q=payment+2707'],
      [who, '/users/directory?username=Person-2707'],
      [who, '/users/directory?ids={users}'],
      [who, '/teams?q=team-2707'],
      [who, '/teams?mine=true'],
      [who, '/webhooks?team_id={others}'],
      [who, '/webhooks?active=false'],
      ...['/hooks', '/event-sources'].flatMap((list): [typeof who, string][] => [
        [who, list],
        [who, `${list}?owner_id={users}`],
        [who, `${list}?team_id={others}`],
      ]),
    ]),
    ['admin', '/runs?owner_id={users}'],
    ['admin', '/hitl/tasks?scope=all&q=payment+2707'],
    ['admin', '/hitl/tasks?scope=all&workflow_id={workflows}'],
    ['admin', '/hitl/tasks?scope=all&team_id={others}'],
    ['admin', '/hitl/tasks?scope=all&team_id={others}&status=decided'],
    ['admin', '/workflows?valid=false'],
    ['admin', '/marketplace/items?status=rejected'],
    ['admin', '/users?q=person-2707'],
    ['admin', '/users?q=nothing+like+it'],
    ['admin', '/users?role=admin'],
    ['admin', '/users?group=group-7'],
    ['admin', '/users?status=disabled'],
    ['admin', '/audit?action=user.update'],
    ['admin', '/audit?outcome=refused'],
    ['admin', '/audit?object_type=user'],
    ['admin', '/audit?object_id=700'],
    ['admin', '/audit?actor_id={users}'],
    ['admin', '/audit?address=10.0.0.7'],
    ['admin', '/audit?team_id={others}'],
    ['admin', '/audit?team_id={others}&action=user.update'],
    ['admin', `/audit?from=${from}&to=${to}`],
    ['admin', '/webhooks/{deliveries}/deliveries?status=failed'],
    ['admin', '/webhooks/{deliveries}/deliveries?status=delivered'],
    ['admin', '/webhooks/{deliveries}/deliveries?run_id={runs}'],
    ['admin', '/webhooks?owner_id={users}'],
    ['admin', '/agents/{agents}/jobs?status=failed'],
    ['admin', '/agents/{agents}/jobs?status=waiting'],
    ['admin', '/agents/{agents}/jobs?run_id={runs}'],
    ['admin', '/agents/{agents}/jobs?queue=default&status=waiting'],
    ['admin', '/agents/{agents}/jobs?queue=other'],
    ['person', '/notifications?unread=true'],
    ['person', '/notifications?kind=mentioned'],
    ['admin', '/events/received?owner_id={users}'],
    ['person', '/events/received?team_id={others}'],
    ['person', '/events/received?source=%2Fsource-7'],
    ['person', '/events/received?source=%2Fsource-7&event_id=7'],
    ['person', '/events/received?event_id=7'],
    ['person', '/events/received?type=type-7'],
    ['person', `/events/received?received_after=${from}&received_before=${to}`],
    ['person', '/conversations?agent_id={agents}'],
  ];
}
