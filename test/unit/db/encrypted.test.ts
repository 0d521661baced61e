/** Connections to PostgreSQL are encrypted if the URL asks for it. The server sees only how they begin. */
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';

import { createOrm } from '../../../db/orm.ts';

/** The first message of a client that wants TLS: its length, 8, and the code 80877103. */
const TLS_REQUEST = '0000000804d2162f';
const REFUSAL = 'The server does not support SSL connections';

const first: string[] = [];
const server = createServer((socket) => {
  socket.once('data', (data) => {
    first.push(data.toString('hex'));
    socket.end('N');
  });
  socket.on('error', () => undefined);
});

afterEach(() => {
  first.length = 0;
  server.close();
});

async function listen(parameters: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return `postgres://cadenza@127.0.0.1:${port}/cadenza${parameters}`;
}

test.each(['verify-full', 'no-verify'])(
  'with sslmode=%s the pool asks for TLS, and sends nothing without it',
  async (mode) => {
    const orm = createOrm({ url: await listen(`?sslmode=${mode}`) });
    await expect(orm.em.fork().execute('select 1')).rejects.toThrow(REFUSAL);
    await orm.close(true);
    expect(first).toEqual([TLS_REQUEST]);
  },
);

test('without sslmode the pool does not ask for TLS', async () => {
  const orm = createOrm({ url: await listen('') });
  await expect(orm.em.fork().execute('select 1')).rejects.toThrow();
  await orm.close(true);
  expect(first).toHaveLength(1);
  expect(first).not.toContain(TLS_REQUEST);
});
