import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownPort } from '../machine.ts';
import {
  brokerFolder,
  programOf,
  removeFolder,
  startBroker,
  trustedCertificate,
  type BrokerProcess,
} from './broker-process.ts';

export interface NatsServers {
  port: number;
  /** Of a server that asks for TLS. */
  tlsPort: number;
  stop(): Promise<void>;
}

/** User `ada` with everything, `guest` without `secret.>`; or why there is none. */
export async function startNats(): Promise<NatsServers | string> {
  const program = programOf('/usr/sbin/nats-server', '/usr/bin/nats-server', '/usr/local/bin/nats-server');
  if (program === undefined) return 'nats-server is not installed';
  const folder = brokerFolder();
  const { certificate, key } = trustedCertificate(folder);
  const [port, tlsPort] = [await ownPort(), await ownPort()];
  const users = `authorization { users = [
    { user: ada, password: "password-of-nats" }
    { user: guest, password: guest
      permissions: { publish: { deny: "secret.>" }, subscribe: { deny: "secret.>" } } }
  ] }`;
  const tls = `tls { cert_file: "${certificate}", key_file: "${key}" }
  authorization { token: "token-of-nats" }`;
  const started: BrokerProcess[] = [];
  for (const [number, rest] of [
    [port, users],
    [tlsPort, tls],
  ] as const) {
    const settings = join(folder, `${number}.conf`);
    writeFileSync(settings, `listen: 127.0.0.1:${number}\nmax_payload: 1MB\n${rest}\n`);
    started.push(await startBroker(program, ['-c', settings], { ports: [number] }));
  }
  return {
    port,
    tlsPort,
    async stop() {
      await Promise.all(started.map((each) => each.stop()));
      removeFolder(folder);
    },
  };
}
