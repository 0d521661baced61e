/** Whether PostgreSQL has connections for all copies of api and worker, also when their pools are full. */
import type { EntityManager } from '../../../db/orm.ts';
import { ok, warn, type Finding } from './finding.ts';

/** Beside its pool, each process has one connection that listens (db/listener.ts). */
const LISTENING = 1;

export interface Connections {
  /** For those who are no superusers. */
  most: number;
  used: number;
  /** Of Temporal, backups and whoever else uses the server. */
  others: number;
  /** Copies of api and worker, by the connections that listen. */
  processes: number;
}

export async function readConnections(em: EntityManager): Promise<Connections> {
  const [row] = await em.execute<Connections[]>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
              - coalesce(current_setting('reserved_connections', true)::int, 0) as most,
            count(*)::int as used,
            count(*) filter (where not is_own)::int as others,
            count(*) filter (where is_own and application_name = 'cadenza-listen')::int as processes
       from (select application_name,
                    datname = current_database()
                      and application_name in ('cadenza', 'cadenza-listen') as is_own
               from pg_stat_activity
              -- Of the sessions of other users the type is shown to superusers only.
              where coalesce(backend_type, 'client backend') = 'client backend'
                and datid is not null) clients`,
  );
  if (row === undefined) throw new Error('PostgreSQL gave no answer');
  return row;
}

export function connectionsFinding(
  { most, used, others, processes }: Connections,
  poolSize: number,
): Finding {
  const check = 'connections';
  const each = poolSize + LISTENING;
  const detail =
    `${used} of ${most} connections are in use; api and worker run ${processes} times and take up to ` +
    `${each} each (DATABASE_POOL_SIZE + ${LISTENING}), others have ${others}`;
  const needed = processes * each + others;
  const remedy = 'Raise max_connections, or lower DATABASE_POOL_SIZE.';
  if (needed > most) return warn(check, `${detail}: ${needed} are needed. ${remedy}`);
  if (needed + each > most) return warn(check, `${detail}: there is no room for one more copy. ${remedy}`);
  return ok(check, detail);
}
