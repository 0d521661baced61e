import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownPort } from '../machine.ts';
import { brokerFolder, programOf, removeFolder, startBroker, trustedCertificate } from './broker-process.ts';

export interface Mosquitto {
  /** Without a login. */
  port: number;
  /** The same over WebSocket. */
  webPort: number;
  /** With TLS, for the user `ada` with the password `password-of-mqtt`. */
  tlsPort: number;
  /** The same over WebSocket. */
  secureWebPort: number;
  stop(): Promise<void>;
}

/** A broker of MQTT 5; or why there is none. */
export async function startMosquitto(): Promise<Mosquitto | string> {
  const program = programOf('/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto');
  const passwords = programOf('/usr/bin/mosquitto_passwd', '/usr/local/bin/mosquitto_passwd');
  if (program === undefined || passwords === undefined) return 'mosquitto is not installed';
  const folder = brokerFolder();
  const { certificate, key } = trustedCertificate(folder);
  const [port, webPort, tlsPort] = [await ownPort(), await ownPort(), await ownPort()];
  const secureWebPort = await ownPort();
  execFileSync(passwords, ['-b', '-c', join(folder, 'passwords'), 'ada', 'password-of-mqtt'], {
    stdio: 'ignore',
  });
  const settings = join(folder, 'settings');
  const lines = [
    // Debian's user may not read the folder.
    'user root',
    'per_listener_settings true',
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    `listener ${webPort} 127.0.0.1`,
    'protocol websockets',
    'allow_anonymous true',
    `listener ${tlsPort} 127.0.0.1`,
    `certfile ${certificate}`,
    `keyfile ${key}`,
    `password_file ${join(folder, 'passwords')}`,
    'allow_anonymous false',
    `listener ${secureWebPort} 127.0.0.1`,
    'protocol websockets',
    `certfile ${certificate}`,
    `keyfile ${key}`,
    `password_file ${join(folder, 'passwords')}`,
    'allow_anonymous false',
  ];
  writeFileSync(settings, `${lines.join('\n')}\n`);
  const broker = await startBroker(program, ['-c', settings], {
    ports: [port, webPort, tlsPort, secureWebPort],
  });
  return {
    port,
    webPort,
    tlsPort,
    secureWebPort,
    async stop() {
      await broker.stop();
      removeFolder(folder);
    },
  };
}
