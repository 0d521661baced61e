import { createServer, type Server } from 'node:net';
import { expect, test } from '@jest/globals';
import { startOnFreePorts } from '../../../dev/ports.ts';

/** A start whose port has been taken meanwhile, as the server's log says. */
const failing = (message: string) => {
  let starts = 0;
  return {
    count: () => starts,
    start: (succeedsAt: number) => async () => {
      if (++starts < succeedsAt) throw new Error(message);
      return starts;
    },
  };
};

async function listen(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, '127.0.0.1', resolve),
  );
  return server;
}

test('a server whose port was taken is started again, a few times', async () => {
  const temporal = failing('No start.\nlisten tcp 127.0.0.1:43189: bind: address already in use');
  expect(await startOnFreePorts(temporal.start(3))).toBe(3);
  const postgres = failing('could not bind IPv4 address "127.0.0.1": Address already in use');
  await expect(startOnFreePorts(postgres.start(9))).rejects.toThrow('Address already in use');
  expect(postgres.count()).toBe(3);
});

test('other failures are not repeated', async () => {
  const { start, count } = failing('No space left on device');
  await expect(startOnFreePorts(start(2))).rejects.toThrow('No space left');
  expect(count()).toBe(1);
});

test('what the system says of a port that is taken is recognised by its words', async () => {
  const first = await listen(0);
  const address = first.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  const ports = [address.port, 0];
  const second = await startOnFreePorts(() => listen(ports.shift() ?? 0));
  expect(ports).toEqual([]);
  second.close();
  first.close();
});
