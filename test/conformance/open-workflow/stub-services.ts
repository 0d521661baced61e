/**
 * The hosts that the conformance kit and the specification's examples call, as far as they call them, on this
 * machine.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keepIdle } from '../../support/http-server.ts';

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
        parameters: [
          {
            name: 'status',
            in: 'query',
            required: true,
            type: 'array',
            items: { type: 'string' },
            collectionFormat: 'multi',
          },
        ],
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

const HOSTS = [
  'https://petstore.swagger.io',
  'https://httpbin.org',
  'https://swapi.dev',
  'https://fake-hospital.com',
  'https://superbet-casinos.com',
  'https://external-service.example.com',
  'https://example.com',
  'https://raw.githubusercontent.com',
  'https://fake.com',
  'https://fake-chat-api.com',
  'https://virtual-wf-powered-race.com',
  'https://hospital.example.com',
  'http://keycloak',
];

export interface StubServices {
  /** Value of EGRESS_HOST_MAP. */
  hostMap: string;
  close(): Promise<void>;
}

export async function startStubServices(): Promise<StubServices> {
  const server = createServer(keepIdle, (request, response) => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    const json = (status: number, body: unknown, headers: Record<string, string> = {}): void => {
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    };
    const pet = /^\/v2\/pet\/(\d+)$/.exec(url.pathname)?.[1];
    const basic = /^\/basic-auth\/([^/]+)\/([^/]+)$/.exec(url.pathname);
    if (url.pathname === '/v2/swagger.json') return json(200, SWAGGER);
    if (url.pathname === '/v2/pet/findByStatus')
      return json(
        200,
        PETS.filter(({ status }) => url.searchParams.getAll('status').includes(status)),
      );
    if (pet !== undefined) {
      const token = request.headers.authorization;
      if (token !== undefined && token !== 'Bearer pet-token') return json(401, { message: 'who are you?' });
      const found = PETS.find(({ id }) => id === Number(pet));
      return found ? json(200, found) : json(404, { code: 1, type: 'error', message: 'Pet not found' });
    }
    if (basic) {
      const expected = `Basic ${Buffer.from(`${basic[1]}:${basic[2]}`).toString('base64')}`;
      if (request.headers.authorization === expected)
        return json(200, { authenticated: true, user: basic[1] });
      return json(401, { authenticated: false }, { 'www-authenticate': 'Basic realm="stub"' });
    }
    const elsewhere = other(`${request.method} ${url.host}${url.pathname}`, url);
    return elsewhere ? json(elsewhere.status, elsewhere.body) : json(404, { message: 'not found' });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  const { port } = server.address() as AddressInfo;
  return {
    hostMap: HOSTS.map((host) => `${host}=http://127.0.0.1:${port}`).join(','),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The services of the examples besides the pet store. */
function other(request: string, url: URL): { status: number; body: unknown } | null {
  const ok = (body: unknown): { status: number; body: unknown } => ({ status: 200, body });
  switch (request) {
    case 'GET raw.githubusercontent.com/serverlessworkflow/catalog/main/functions/log/1.0.0/function.yaml':
      return ok({ set: { logged: '${ .message }' } });
    case 'GET swapi.dev/api/people/':
      return ok({ results: [{ name: url.searchParams.get('search') }] });
    case 'GET swapi.dev/api/people/1':
      return ok({ name: 'Luke Skywalker', homeworld: 'https://swapi.dev/api/planets/1/' });
    case 'GET swapi.dev/api/planets/1/':
      return ok({ name: 'Tatooine' });
    case 'PUT fake-hospital.com/api/v3/alert/nurses':
    case 'PUT fake-hospital.com/api/v3/alert/doctor':
      return ok({ alerted: url.pathname.split('/').at(-1) });
    case 'POST hospital.example.com/api/v1/notify':
      return ok({ notified: 1 });
    case 'POST superbet-casinos.com/api/bet/on/football':
      return ok({ placed: true });
    case 'PUT petstore.swagger.io/v2/pet/':
      return ok({ sold: true });
    case 'POST example.com/api/v1/backup/start':
      return ok({ started: true });
    case 'GET external-service.example.com/api':
      return { status: 503, body: { message: 'later' } };
    case 'POST keycloak/realms/fake-authority/auth/token':
    case 'POST keycloak/realms/fake-authority/protocol/token':
      return ok({ access_token: 'pet-token', expires_in: 60 });
    case 'GET keycloak/realms/fake-authority/.well-known/openid-configuration':
      return ok({ token_endpoint: 'http://keycloak/realms/fake-authority/protocol/token' });
    default:
      return null;
  }
}
