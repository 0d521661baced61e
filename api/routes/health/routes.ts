import * as z from 'zod';

import { migrationNames } from '../../../db/migrations/index.ts';
import { migrationTable } from '../../../db/migration-table.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';

const check = z.enum(['ok', 'down', 'not_migrated', 'stopping']);
const readiness = z.object({
  status: z.enum(['ok', 'degraded', 'down']),
  checks: z.object({ database: check, temporal: check, files: check, server: check }),
}).meta({ id: 'Readiness' });

/** A check that takes longer counts as failed. Temporal's client waits for a connection where there is none. */
const databaseTimeoutMs = 3_000;
const temporalTimeoutMs = 1_000;
const filesTimeoutMs = 2_000;
/** Every ask of a bucket costs something. */
const filesKnownMs = 15_000;

export function healthEndpoints(deps: AppDeps): Endpoint[] {
  let filesAt = { ms: -Infinity, state: 'ok' as 'ok' | 'down' };
  const filesState = async (): Promise<'ok' | 'down'> => {
    if (performance.now() - filesAt.ms > filesKnownMs) filesAt = { state: await within(filesTimeoutMs, deps.files.ping().then(okOrDown), 'down'), ms: performance.now() };
    return filesAt.state;
  };
  return [
    endpoint({
      method: 'GET',
      path: '/healthz',
      operationId: 'getHealth',
      summary: 'Whether the process lives',
      tags: ['operations'],
      role: 'public',
      responses: { 200: z.object({ status: z.literal('ok') }) },
      handler: async () => ({ status: 200, body: { status: 'ok' }, headers: { 'Cache-Control': 'no-store' } }),
    }),
    endpoint({
      method: 'GET',
      path: '/readyz',
      operationId: 'getReadiness',
      summary: 'Whether the process can serve; degraded while Temporal or the file store is away',
      tags: ['operations'],
      role: 'public',
      responses: { 200: readiness, 503: readiness },
      handler: async (c) => {
        const [database, temporal, files] = await Promise.all([
          within(databaseTimeoutMs, databaseState(c.em), 'down' as const),
          within(temporalTimeoutMs, deps.temporal.ping().then(okOrDown), 'down' as const),
          filesState(),
        ]);
        const server = deps.isStopping() ? ('stopping' as const) : ('ok' as const);
        const down = database !== 'ok' || server !== 'ok';
        const status = down ? 'down' : temporal === 'ok' && files === 'ok' ? 'ok' : 'degraded';
        return {
          status: down ? 503 : 200,
          body: { status, checks: { database, temporal, files, server } },
          headers: { 'Cache-Control': 'no-store', ...(down ? { 'Retry-After': '5' } : {}) },
        };
      },
    }),
  ];
}

function okOrDown(ok: boolean): 'ok' | 'down' {
  return ok ? 'ok' : 'down';
}

async function databaseState(em: { execute<T extends object[]>(sql: string, params?: unknown[]): Promise<T> }): Promise<'ok' | 'not_migrated'> {
  const [table] = await em.execute<{ name: string | null }[]>('select to_regclass(?)::text as name', [migrationTable]);
  if (!table?.name) {
    return 'not_migrated';
  }
  const done = await em.execute<object[]>(`select 1 from ${migrationTable} where name in (?)`, [migrationNames]);
  return done.length === migrationNames.length ? 'ok' : 'not_migrated';
}

/** The fallback on failure, and when it takes too long. */
async function within<T>(timeoutMs: number, work: Promise<T>, fallback: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, fallback);
  });
  return Promise.race([work.catch(() => fallback), late]).finally(() => clearTimeout(timer));
}
