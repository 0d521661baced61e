/** MQTT over a WebSocket (MQTT 5 §6): a stream of the bytes in its binary messages. */
import { Duplex } from 'node:stream';
import type { CallGuard } from '../guarded-call.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { openWebSocket } from '../egress/open-web-socket.ts';

/** Throws `Fault`. The stream fails if more than `maxBytes` wait to be read. */
export async function openWebSocketStream(
  { egress, guard }: { egress: EgressPolicy; guard: CallGuard },
  url: URL,
  maxBytes: number,
): Promise<Duplex> {
  const stream: Duplex = new Duplex({
    // What arrives cannot be held back, so what waits is bounded.
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      opened.socket.send(chunk);
      done();
    },
    final(done) {
      opened.socket.close();
      done();
    },
    destroy(error, done) {
      void opened.close().then(
        () => done(error),
        () => done(error),
      );
    },
  });
  const opened = await openWebSocket({
    egress,
    signal: guard.signal,
    url,
    headers: {},
    protocols: ['mqtt'],
    maxPayloadBytes: maxBytes,
    received(bytes) {
      if (stream.destroyed) return;
      if (stream.readableLength + bytes.length > maxBytes) stream.destroy(new Error('too much waits'));
      else stream.push(bytes);
    },
    ended: () => void stream.destroy(),
  });
  return stream;
}
