/**
 * A bare Koa server that executes statements which were recorded from ours, and answers with the rows of the
 * last one: no authentication, no checks. `fork` it with a database's URL, the statements of each path, and
 * the address of Temporal; it sends its port.
 */
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Router from '@koa/router';
import { Client, Connection } from '@temporalio/client';
import Koa from 'koa';
import pg from 'pg';
import { CONNECTION_INTERCEPTORS } from '../../../temporal/closed-connection.ts';
import type { BareRoute } from '../beside/recorded.ts';

const [databaseUrl, routes, address] = process.argv.slice(2) as [string, string, string];
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
const connection = await Connection.connect({ address, interceptors: CONNECTION_INTERCEPTORS });
const temporal = new Client({ connection });
const router = new Router();
for (const { path, statements } of JSON.parse(routes) as BareRoute[]) {
  router.get(path.replace(/\?.*/, ''), async (ctx) => {
    let rows: unknown[] = [];
    for (const statement of statements) ({ rows } = await pool.query(statement));
    ctx.body = rows;
  });
}
// A transaction comes with its values, and with the id of a workflow if it has a signal.
router.post('/transaction', async (ctx) => {
  const client = await pool.connect();
  let rows: unknown[] = [];
  try {
    for (const statement of JSON.parse(await text(ctx.req)) as BareRoute['statements'])
      ({ rows } = await client.query(statement));
  } finally {
    client.release();
  }
  if (typeof ctx.query['signal'] === 'string')
    await temporal.workflow.getHandle(ctx.query['signal']).signal('decided', { decision: 'approve' });
  ctx.body = rows;
});

const koa = new Koa();
koa.use(router.routes());
// As ours: it waits while the other servers have their turns.
const IDLE_MS = 65_000;
const server = koa.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
server.keepAliveTimeout = IDLE_MS;
