/** The counterpart of the scenarios: an HTTP server with a few addresses, and the scenarios' files. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keepIdle } from '../../support/http-server.ts';

const SERVICE = 'https://service.test';

export interface ScenarioServices {
  /** Value of EGRESS_HOST_MAP. */
  hostMap: string;
  /** Serves a text below `https://service.test/files/`. */
  serve(path: string, text: string): void;
  close(): Promise<void>;
}

/**
 * `/echo/…` answers what it got, `/status/<n>` with that status, `/times/<name>/<n>` n times with 503 and
 * then with how often it was asked, `/slow` after ten seconds, `/guarded/…` serves a file to `user:pass`.
 */
export async function startScenarioServices(): Promise<ScenarioServices> {
  const files = new Map<string, string>();
  const asked = new Map<string, number>();
  const server = createServer(keepIdle, (request, response) => {
    const url = new URL(request.url ?? '/', SERVICE);
    const [, kind, name = '', count] = url.pathname.split('/');
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const file = (): void => {
      const text = files.get(url.pathname.replace(/^\/[^/]+\//, ''));
      if (text === undefined) return answer(404, { message: 'no such file' });
      response.writeHead(200, { 'content-type': 'application/yaml' }).end(text);
    };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      if (kind === 'files') return file();
      if (kind === 'guarded') {
        const expected = `Basic ${Buffer.from('user:pass').toString('base64')}`;
        return request.headers.authorization === expected ? file() : answer(401, { message: 'who are you?' });
      }
      if (kind === 'status') return answer(Number(name), { status: Number(name) });
      if (kind === 'times') {
        const times = (asked.get(name) ?? 0) + 1;
        asked.set(name, times);
        return times <= Number(count) ? answer(503, { times }) : answer(200, { times });
      }
      if (kind === 'slow') return void setTimeout(() => answer(200, {}), 10_000).unref();
      answer(200, {
        method: request.method,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: text === '' ? null : JSON.parse(text),
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  const { port } = server.address() as AddressInfo;
  return {
    hostMap: `${SERVICE}=http://127.0.0.1:${port}`,
    serve: (path, text) => void files.set(path, text),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
