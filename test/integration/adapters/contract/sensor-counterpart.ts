/** A broker of MQTT whose device does what a test says. */
import { createHash } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { Aedes } from 'aedes';
import { ANSWER, HUGE_BYTES, type Behaviour, type Counterpart } from './counterpart.ts';

const TOPIC = 'contract/reading';
/** The key of calls without a platform. It is recognised by what a client's id makes of it. */
const KNOWN = 'run-1/do/0/call/1/1';
const idOf = (key: string): string =>
  `cadenza-${createHash('sha256').update(key).digest('hex').slice(0, 14)}`;

export async function startSensorCounterpart(): Promise<Counterpart> {
  const calls: Counterpart['calls'] = [];
  const credentials = new Map<string, string>();
  const answered = new Set<string>();
  let behaviour: Behaviour = 'answer';
  let left = 0;
  const broker = await Aedes.createBroker({
    authenticate(client, _username, password, done) {
      const credential = password?.toString() ?? '';
      credentials.set(client.id, credential);
      calls.push({ key: client.id === idOf(KNOWN) ? KNOWN : client.id, credential });
      done(null, true);
    },
  });
  const publish = (text: string): void =>
    broker.publish(
      { cmd: 'publish', topic: TOPIC, payload: text, qos: 0, dup: false, retain: false },
      () => undefined,
    );
  const readings = (id: string): string =>
    behaviour === 'echo'
      ? `${ANSWER} ${credentials.get(id)}`
      : behaviour === 'huge'
        ? 'x'.repeat(HUGE_BYTES)
        : ANSWER;
  broker.on('subscribe', (_subscriptions, { id }) => {
    if (behaviour === 'hold') return;
    answered.add(id);
    publish(readings(id));
  });
  broker.on('clientDisconnect', ({ id }) => {
    if (!answered.delete(id)) left += 1;
  });
  const server = createServer(broker.handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    agent: {
      type: 'sensor',
      configuration: {
        broker: `mqtt://127.0.0.1:${port}`,
        protocol: 'mqtt',
        topic: TOPIC,
        username: 'contract',
        password: 'Bearer <CONTRACT_KEY>',
      },
    },
    input: {},
    behave: (next) => (behaviour = next),
    release() {
      behaviour = 'answer';
      for (const id of credentials.keys()) answered.add(id);
      publish(ANSWER);
    },
    calls,
    left: () => left,
    close: async () => {
      await new Promise<void>((resolve) => broker.close(() => resolve()));
      if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
