import type { ClientHttp2Stream } from 'node:http2';

/** The `grpc-status` of a call made by hand: `reset` after an error, `closed` if its stream ends without. */
export function grpcStatusOf(stream: ClientHttp2Stream, closed = 'closed'): Promise<string> {
  return new Promise((resolve) => {
    const settle = ({ 'grpc-status': code }: Record<string, unknown>): void => {
      if (typeof code === 'string') resolve(code);
    };
    stream
      .on('response', settle)
      .on('trailers', settle)
      .on('error', () => resolve('reset'))
      .on('close', () => resolve(closed));
  });
}
