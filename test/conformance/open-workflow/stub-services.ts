/** petstore.swagger.io and httpbin.org as far as the conformance kit calls them, on this machine. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const PETS = [
  { id: 1, name: 'Milou', status: 'available', photoUrls: [], tags: [] },
  { id: 2, name: 'Idefix', status: 'available', photoUrls: [], tags: [] },
];

const SWAGGER = {
  swagger: '2.0',
  info: { title: 'Petstore', version: '1.0.0' },
  host: 'petstore.swagger.io',
  basePath: '/v2',
  schemes: ['https'],
  paths: {
    '/pet/findByStatus': {
      get: {
        operationId: 'findPetsByStatus',
        produces: ['application/json'],
        parameters: [{ name: 'status', in: 'query', required: true, type: 'array', items: { type: 'string' }, collectionFormat: 'multi' }],
        responses: { 200: { description: 'pets' } },
      },
    },
    '/pet/{petId}': {
      get: {
        operationId: 'getPetById',
        produces: ['application/json'],
        parameters: [{ name: 'petId', in: 'path', required: true, type: 'integer', format: 'int64' }],
        responses: { 200: { description: 'a pet' } },
      },
    },
  },
};

export interface StubServices {
  origin: string;
  close(): Promise<void>;
}

export async function startStubServices(): Promise<StubServices> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://stub');
    const json = (status: number, body: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    const pet = /^\/v2\/pet\/(\d+)$/.exec(url.pathname)?.[1];
    const basic = /^\/basic-auth\/([^/]+)\/([^/]+)$/.exec(url.pathname);
    if (url.pathname === '/v2/swagger.json') return json(200, SWAGGER);
    if (url.pathname === '/v2/pet/findByStatus') return json(200, PETS.filter(({ status }) => url.searchParams.getAll('status').includes(status)));
    if (pet !== undefined) {
      const found = PETS.find(({ id }) => id === Number(pet));
      return found ? json(200, found) : json(404, { code: 1, type: 'error', message: 'Pet not found' });
    }
    if (basic) {
      const expected = `Basic ${Buffer.from(`${basic[1]}:${basic[2]}`).toString('base64')}`;
      if (request.headers.authorization === expected) return json(200, { authenticated: true, user: basic[1] });
      return json(401, { authenticated: false }, { 'www-authenticate': 'Basic realm="stub"' });
    }
    return json(404, { message: 'not found' });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
