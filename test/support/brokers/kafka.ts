/** Apache Kafka in one process of Java, from its own artifacts in Maven's repository. */
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownPort } from '../machine.ts';
import {
  brokerFolder,
  cacheFolder,
  removeFolder,
  startBroker,
  trustedCertificate,
} from './broker-process.ts';

const run = promisify(execFile);
const VERSION = '4.1.1';
const CLUSTER = 'Y2FkZW56YS10ZXN0cy0xMQ';
/** Little memory, and no compiler that is worth its time only later. */
const JAVA = ['-Xmx384m', '-Xms64m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto'];

export interface Kafka {
  port: number;
  /** With SASL: PLAIN, both SCRAMs, and OAUTHBEARER with tokens that nobody signs. */
  saslPort: number;
  tlsPort: number;
  /** It names 127.0.0.2 as the address of the broker. */
  lyingPort: number;
  /** Where it says that it is. */
  lie: number;
  /** Runs a program in one file, with the clients of Kafka. */
  java(file: string, ...args: string[]): Promise<void>;
  stop(): Promise<void>;
}

/** User `ada`; or why there is none. */
export async function startKafka(): Promise<Kafka | string> {
  for (const [program, flag] of [
    ['java', '-version'],
    ['mvn', '-version'],
  ] as const)
    if (spawnSync(program, [flag]).status !== 0) return `${program} is not installed`;
  const folder = brokerFolder();
  try {
    return await start(folder, await libraries());
  } catch (error) {
    removeFolder(folder);
    const reason = error instanceof Error ? error.message.slice(-600) : '';
    return `Kafka does not start: ${reason.replaceAll(/\s+/g, ' ')}`;
  }
}

/** The artifacts and a formatted folder for its data, made once. */
async function libraries(): Promise<string> {
  const cached = cacheFolder(`kafka-${VERSION}`);
  if (existsSync(join(cached, 'ready'))) return cached;
  mkdirSync(cached, { recursive: true });
  writeFileSync(
    join(cached, 'pom.xml'),
    `<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>kafka</artifactId>
<version>1</version><dependencies><dependency><groupId>org.apache.kafka</groupId>
<artifactId>kafka_2.13</artifactId><version>${VERSION}</version></dependency></dependencies></project>`,
  );
  const copy = [
    'dependency:copy-dependencies',
    '-DincludeScope=runtime',
    `-DoutputDirectory=${join(cached, 'libs')}`,
  ];
  await run('mvn', ['-q', '-B', '-f', join(cached, 'pom.xml'), ...copy], { timeout: 300_000 });
  const settings = join(cached, 'format.properties');
  writeFileSync(settings, settingsOf(join(cached, 'data'), { controller: 9093 }, 'PLAIN://127.0.0.1:9092'));
  const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((name) => [
    '--add-scram',
    `${name}=[name=ada,password=password-of-kafka]`,
  ]);
  await run('java', [
    ...JAVA,
    '-cp',
    join(cached, 'libs/*'),
    'kafka.tools.StorageTool',
    'format',
    '-t',
    CLUSTER,
    '-c',
    settings,
    ...scram,
  ]);
  writeFileSync(join(cached, 'ready.part'), '');
  renameSync(join(cached, 'ready.part'), join(cached, 'ready'));
  return cached;
}

async function start(folder: string, cached: string): Promise<Kafka> {
  const data = join(folder, 'data');
  cpSync(join(cached, 'data'), data, { recursive: true });
  const { both, certificate } = trustedCertificate(folder);
  const [port, saslPort, tlsPort] = [await ownPort(), await ownPort(), await ownPort()];
  const [lyingPort, controller, lie] = [await ownPort(), await ownPort(), await ownPort()];
  const listeners = { PLAIN: port, SASL: saslPort, TLS: tlsPort, LYING: lyingPort };
  const bound = Object.entries(listeners).map(([name, number]) => `${name}://127.0.0.1:${number}`);
  const advertised = bound.map((each) =>
    each.replace('TLS://127.0.0.1', 'TLS://localhost').replace(/LYING:.*/, `LYING://127.0.0.2:${lie}`),
  );
  const settings = join(folder, 'kafka.properties');
  const login = 'org.apache.kafka.common.security';
  writeFileSync(
    settings,
    `${settingsOf(data, { controller }, bound.join(','), advertised.join(','))}
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl.plain.sasl.jaas.config=${login}.plain.PlainLoginModule required \
user_ada="password-of-kafka";
listener.name.sasl.scram-sha-256.sasl.jaas.config=${login}.scram.ScramLoginModule required;
listener.name.sasl.scram-sha-512.sasl.jaas.config=${login}.scram.ScramLoginModule required;
listener.name.sasl.oauthbearer.sasl.jaas.config=${login}.oauthbearer.OAuthBearerLoginModule required \
unsecuredLoginStringClaim_sub="broker";
listener.name.tls.ssl.keystore.type=PEM
listener.name.tls.ssl.keystore.location=${both}
listener.name.tls.ssl.truststore.type=PEM
listener.name.tls.ssl.truststore.location=${certificate}
`,
  );
  const broker = await startBroker(
    'java',
    [...JAVA, '-cp', join(cached, 'libs/*'), 'kafka.Kafka', settings],
    {
      ports: Object.values(listeners),
      cwd: folder,
    },
  );
  return {
    port,
    saslPort,
    tlsPort,
    lyingPort,
    lie,
    async java(file, ...args) {
      await run('java', [...JAVA, '-cp', join(cached, 'libs/*'), file, ...args], { timeout: 60_000 });
    },
    async stop() {
      await broker.stop();
      removeFolder(folder);
    },
  };
}

function settingsOf(
  data: string,
  { controller }: { controller: number },
  listeners: string,
  advertised = listeners,
): string {
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
controller.listener.names=CONTROLLER
listeners=${listeners},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=${advertised}
listener.security.protocol.map=PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,LYING:PLAINTEXT,\
CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAIN
log.dirs=${data}
num.partitions=3
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
`;
}
