/** A real SMTP server that keeps what it receives, and refuses what a test says. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** As it came. */
  source: string;
  user: string | null;
  isSecure: boolean;
}

export interface MailServer {
  port: number;
  mails: ReceivedMail[];
  /** Attempts to hand over a mail, whatever came of them. */
  attempts: number;
  /** What the next mails meet: an answer after `DATA`, a cut connection in it, or nothing. */
  refusals: (number | 'cut')[];
  close(): Promise<void>;
}

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const state: Omit<MailServer, 'port' | 'close'> = { mails: [], attempts: 0, refusals: [] };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      password === 'right password' ? done(null, { user: username }) : done(new Error('wrong password')),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      state.attempts++;
      const refusal = state.refusals.shift();
      if (refusal === 'cut') {
        for (const one of server.connections) one._socket.destroy();
        return;
      }
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (refusal !== undefined)
          return done(Object.assign(new Error('refused by the test'), { responseCode: refusal }));
        const { mailFrom, rcptTo } = session.envelope;
        state.mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          source: Buffer.concat(chunks).toString(),
          user: session.user ?? null,
          isSecure: session.secure,
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  // The address of a listening TCP server has this type.
  const { port } = server.server.address() as AddressInfo;
  return Object.assign(state, {
    port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}

/** The decoded text of a mail's part. */
export function partOf(mail: ReceivedMail | undefined, type: 'text/plain' | 'text/html'): string {
  const [, part = ''] = mail?.source.split(`Content-Type: ${type}`) ?? [];
  const [head = '', ...rest] = part.split('\r\n\r\n');
  const body = (rest.join('\r\n\r\n').split('\r\n--')[0] ?? '').replaceAll('\r\n', '\n');
  if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString();
  if (!/quoted-printable/i.test(head)) return body;
  const bytes = body
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

export function headerOf(mail: ReceivedMail | undefined, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'im')
    .exec((mail?.source.split('\r\n\r\n')[0] ?? '').replaceAll(/\r\n[ \t]+/g, ' '))?.[1]
    ?.trim();
}
