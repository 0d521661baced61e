/** A proxy before Temporal that demands a certificate of its callers. */
import { connect, type AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { pem, type Authority } from './certificates.ts';

interface MutualTls {
  port: number;
  /** Whose certificates have come. */
  names: string[];
  close(): void;
}

/** Demands a certificate of the authority, and passes on what comes. `server`: its own certificate. */
export async function startMutualTls(
  temporalAddress: string,
  { authority, server }: { authority: Authority; server: { cert: string; key: string } },
): Promise<MutualTls> {
  const names: string[] = [];
  const [host = '', port = ''] = temporalAddress.split(':');
  const proxy = createServer(
    {
      cert: pem(server.cert),
      key: pem(server.key),
      ca: pem(authority.cert),
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2'],
    },
    (socket: TLSSocket) => {
      names.push(String(socket.getPeerCertificate().subject.CN));
      const onward = connect(Number(port), host);
      socket.pipe(onward).pipe(socket);
      for (const end of [socket, onward]) end.on('error', () => [socket, onward].map((one) => one.destroy()));
    },
  );
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return { port: (proxy.address() as AddressInfo).port, names, close: () => void proxy.close() };
}
