import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Channel } from 'amqplib';
import { ownPort } from '../machine.ts';
import { brokerFolder, programOf, removeFolder, startBroker, trustedCertificate } from './broker-process.ts';

export interface RabbitMq {
  port: number;
  tlsPort: number;
  /** A client of its own. */
  channel: Channel;
  stop(): Promise<void>;
}

/** User `ada`; or why there is none. */
export async function startRabbitMq(): Promise<RabbitMq | string> {
  const program = programOf('/usr/lib/rabbitmq/bin/rabbitmq-server');
  const epmd = programOf('/usr/bin/epmd');
  if (program === undefined || epmd === undefined) return 'rabbitmq-server is not installed';
  const folder = brokerFolder();
  const { certificate, key } = trustedCertificate(folder);
  const [port, tlsPort, names, nodes] = [await ownPort(), await ownPort(), await ownPort(), await ownPort()];
  writeFileSync(
    join(folder, 'rabbitmq.conf'),
    [
      `listeners.tcp.1 = 127.0.0.1:${port}`,
      `listeners.ssl.1 = 127.0.0.1:${tlsPort}`,
      `ssl_options.certfile = ${certificate}`,
      `ssl_options.keyfile = ${key}`,
      `ssl_options.cacertfile = ${certificate}`,
      'ssl_options.verify = verify_none',
      'default_user = ada',
      'default_pass = password-of-amqp',
      'log.console = true',
      'log.file = false',
    ].join('\n'),
  );
  writeFileSync(join(folder, 'plugins'), '[].\n');
  const env = {
    HOME: folder,
    ERL_EPMD_PORT: String(names),
    RABBITMQ_NODENAME: `cadenza${port}@localhost`,
    RABBITMQ_DIST_PORT: String(nodes),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-start_epmd false',
  };
  const registry = await startBroker(epmd, ['-port', String(names)], { ports: [names] });
  const broker = await startBroker(program, [], { ports: [port, tlsPort], env }).catch(
    async (error: unknown) => {
      await registry.stop();
      throw error;
    },
  );
  const model = await connect(`amqp://ada:password-of-amqp@127.0.0.1:${port}`);
  return {
    port,
    tlsPort,
    channel: await model.createChannel(),
    async stop() {
      await model.close();
      await broker.stop();
      await registry.stop();
      removeFolder(folder);
    },
  };
}
