/** Generates OpenAPI 3.1 from the endpoint declarations, so that the schemas that validate also document. */
import * as z from 'zod';

import { consumedTypes, isMedia, type Endpoint, type ResponseDeclaration } from './endpoint.ts';
import { strict } from './middleware/guard.ts';
import { sessionCookieName } from './middleware/session-cookie.ts';
import { createComponents, type Components, type Json } from './openapi-schemas.ts';
import { shareRepeated } from './openapi-share.ts';
import { shareFields } from './openapi-variants.ts';
import { problemSchema } from './schemas.ts';

const problemTitles: Record<number, string> = {
  400: 'The request is malformed or has an unknown query parameter.',
  401: 'The access token is missing or invalid.',
  403: "The caller's role, or its kind of token, does not permit this.",
  404: 'The resource does not exist, or the caller may not see it.',
  406: 'The response is not available in any media type that the caller accepts.',
  409: "The resource's state does not permit this.",
  410: 'The resource has expired or ended.',
  412: 'The resource was changed since it was read.',
  413: 'The body is too large.',
  415: 'The media type of the body is not supported.',
  416: 'The range is outside the file; `Content-Range` gives its size.',
  422: 'The body is invalid; `errors` lists the invalid fields.',
  429: 'Too many attempts, or the request limit is exceeded.',
  431: 'The URL and the headers are too long.',
  503: 'The database or another required service is unavailable.',
};

const text = { type: 'string' };
/** Optional request headers of endpoints. */
const headerTexts = {
  'Idempotency-Key': {
    description:
      'Repeating a request with the same key and body within 24 h returns the first response again.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]([ -~]*[!-~])?$' },
  },
  'If-Match': {
    description: 'The `ETag` that was read. If the state has changed since, the response is 412.',
    schema: text,
  },
  'If-None-Match': {
    description: 'The known `ETag`. If the state is unchanged, the response is 304.',
    schema: text,
  },
  'Last-Event-ID': {
    description: 'The `id` of the last received event: the stream resumes after it.',
    schema: text,
  },
  Prefer: {
    description: '`wait=N`: wait up to N seconds (at most 60) for the run to end before responding.',
    schema: text,
    example: 'wait=2',
  },
  Range: { description: 'A single byte range.', schema: text, example: 'bytes=0-1023' },
} satisfies Record<string, Json>;

const headerParameters = Object.fromEntries(
  Object.entries(headerTexts).map(([name, rest]) => [componentNameOf(name), { name, in: 'header', ...rest }]),
);

function componentNameOf(header: string): string {
  return header.replaceAll('-', '');
}

/** The shared error responses by status. */
function problemResponses(): Json {
  return Object.fromEntries(
    Object.entries(problemTitles).map(([status, description]) => [
      `Problem${status}`,
      { description, headers: refsOf(problemHeaders(Number(status))), content: problemContent },
    ]),
  );
}

const problemContent = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };

const CREDENTIALS = [{ bearer: [] }, { session: [] }];

export interface OpenApiDocument {
  openapi: string;
  info: Json;
  servers: Json[];
  paths: Record<string, Record<string, Json>>;
  components: Json;
  [key: string]: unknown;
}

/** Of the API, not of the release. */
export const API_VERSION = '1.0.0';

const DESCRIPTION =
  'Agent orchestration: register agents, compose them into durable workflows, ' +
  'decide human-in-the-loop tasks. ' +
  'Lists are plain arrays; the `Link` header has the next page. ' +
  'JSON over 1 kB is compressed (br, gzip) for clients that accept it. ' +
  'Errors are RFC 9457 problems with a stable `code`. ' +
  'Every agent is also an A2A agent (protocol 1.0 and 0.3): JSON-RPC at `POST /a2a/{agent_id}`, ' +
  'HTTP+JSON below it (`/message:send`, `/tasks/{task_id}`, …; 0.3 below `/v1`), ' +
  'and its card at `/a2a/{agent_id}/.well-known/agent-card.json`. ' +
  'The A2A specification (a2a-protocol.org) defines their shapes, which are not repeated here.';

const responseHeaders = {
  RequestId: {
    description: "Identifies the request in the server's log. An id sent by the caller is kept.",
    schema: { type: 'string' },
  },
  Link: {
    description: 'The next page: `<absolute URL>; rel="next"` (RFC 8288). Absent on the last page.',
    schema: { type: 'string' },
  },
  Location: { description: 'URL of the new record.', schema: { type: 'string' } },
  ETag: {
    description:
      'Send it as `If-Match`. Each content coding has its own tag, and all of them identify the ' +
      'same state.',
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } },
  Authenticate: { schema: { type: 'string' } },
  PreferenceApplied: {
    description: 'The part of `Prefer` that was applied.',
    schema: { type: 'string' },
  },
};

export function createOpenApi(endpoints: readonly Endpoint[], baseUrl: string): OpenApiDocument {
  const components = createComponents();
  components.schema(problemSchema, 'output');
  const paths: OpenApiDocument['paths'] = {};
  for (const endpoint of endpoints.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = operation(endpoint, components);
  }
  const shared = shareRepeated(Object.values(paths).flatMap((path) => Object.values(path)));
  return {
    openapi: '3.1.0',
    'x-generated':
      'Generated from the endpoint declarations in api/routes by `npm run openapi`: do not edit.',
    info: { title: 'Cadenza', version: API_VERSION, description: DESCRIPTION },
    servers: [{ url: baseUrl }, { url: `${baseUrl}/api/v1` }],
    security: CREDENTIALS,
    tags: [...new Set(endpoints.flatMap((endpoint) => endpoint.tags))].toSorted().map((name) => ({ name })),
    paths,
    components: {
      schemas: shareFields(components.all()),
      parameters: { ...headerParameters, ...shared.parameters },
      requestBodies: shared.requestBodies,
      responses: { ...problemResponses(), ...shared.responses },
      headers: responseHeaders,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'From `POST /auth/token`, or a personal access token (`cdz_…`). A token with scopes may ' +
            'call the operations whose `x-scope` it has, else 403 `insufficient_scope`; ' +
            '`person`: no such token may.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookieName(baseUrl),
          description:
            'From `POST /console/session`, for pages of this server only. ' +
            'Over HTTPS the cookie is `__Host-cadenza`, over plain HTTP `cadenza`.',
        },
      },
    },
  };
}

function operation(endpoint: Endpoint, components: Components): Json {
  const open = endpoint.role === 'public';
  return {
    operationId: endpoint.operationId,
    summary: endpoint.summary,
    ...(endpoint.description ? { description: endpoint.description } : {}),
    tags: endpoint.tags,
    ...(open ? { security: [] } : endpoint.anonymousToo ? { security: [...CREDENTIALS, {}] } : {}),
    'x-role': endpoint.role,
    ...(endpoint.scope === undefined ? {} : { 'x-scope': endpoint.scope }),
    parameters: parameters(endpoint, components),
    ...requestBody(endpoint, components),
    responses: responses(endpoint, components),
  };
}

function parameters(endpoint: Endpoint, components: Components): Json[] {
  const names = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
  const inPath = names.map((name) => {
    const schema = endpoint.params?.shape[name];
    return {
      name,
      in: 'path',
      required: true,
      schema: schema ? components.schema(schema, 'input') : { type: 'string' },
    };
  });
  const inQuery = Object.entries(endpoint.query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...json } = components.schema(schema, 'input');
    const required = !z.safeParse(schema, undefined).success;
    return {
      name,
      in: 'query',
      ...(required ? { required } : {}),
      ...(description ? { description } : {}),
      schema: json,
    };
  });
  const inHeader = acceptedHeaders(endpoint).map((name) => ({
    $ref: `#/components/parameters/${componentNameOf(name)}`,
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function acceptedHeaders(endpoint: Endpoint): (keyof typeof headerTexts)[] {
  return [
    ...(isIdempotent(endpoint) ? ['Idempotency-Key' as const] : []),
    ...(endpoint.errors?.includes(412) ? ['If-Match' as const] : []),
    ...(endpoint.headers ?? []),
  ];
}

function requestBody(endpoint: Endpoint, components: Components): Json {
  if (!readsBody(endpoint)) {
    return {};
  }
  if (endpoint.rawBody) {
    const content = consumedTypes(endpoint).map((type) => {
      const schema = endpoint.bodies?.[type];
      return [
        type,
        {
          schema: schema
            ? components.named(requestName(endpoint, type), schema, 'input')
            : { type: 'string', format: 'binary' },
        },
      ];
    });
    return { requestBody: { required: true, content: Object.fromEntries(content) } };
  }
  const schemaOf = (type: string) => strict(endpoint.bodies?.[type] ?? endpoint.body ?? z.object({}));
  const types = consumedTypes(endpoint);
  const required = !types.some((type) => schemaOf(type).safeParse({}).success);
  const content = Object.fromEntries(
    types.map((type) => [
      type,
      { schema: components.named(requestName(endpoint, type), schemaOf(type), 'input') },
    ]),
  );
  return { requestBody: { required, content } };
}

/**
 * Component name of a request body. If the endpoint has one body per media type, all but the JSON one include
 * the type.
 */
function requestName({ operationId, body, bodies }: Endpoint, type: string): string {
  const empty =
    bodies === undefined &&
    (body === undefined || (body instanceof z.ZodObject && Object.keys(body.shape).length === 0));
  if (empty) return 'NoFields';
  const own = bodies !== undefined && type !== 'application/json';
  return `${capital(operationId)}${own ? words(type.split('/')[1] ?? '') : ''}Request`;
}

function words(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map(capital)
    .join('');
}

function capital(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function responses(endpoint: Endpoint, components: Components): Json {
  const problems = new Set([...(endpoint.errors ?? []), ...impliedProblems(endpoint)]);
  const statuses = new Set([...Object.keys(endpoint.responses).map(Number), ...problems]);
  return Object.fromEntries(
    [...statuses]
      .toSorted((a, b) => a - b)
      .map((status) => {
        const declared = endpoint.responses[status];
        if (declared === undefined)
          return [String(status), { $ref: `#/components/responses/Problem${status}` }];
        const content = {
          ...(declared ? contentOf(declared, components, `${capital(endpoint.operationId)}Response`) : {}),
          ...(problems.has(status) ? problemContent : {}),
        };
        const description =
          problemTitles[status] ?? (declared === null ? 'Success, without content.' : 'Success.');
        return [
          String(status),
          {
            description,
            headers: headersOf(endpoint, status),
            ...(Object.keys(content).length > 0 ? { content } : {}),
          },
        ];
      }),
  );
}

/** Error statuses that follow from the declaration. */
function impliedProblems(endpoint: Endpoint): number[] {
  const hasContent = Object.values(endpoint.responses).some((declared) => declared !== null);
  return [
    400,
    ...(endpoint.role === 'public' ? [] : [401]),
    ...(endpoint.probe ? [] : [429]),
    ...(isForSome(endpoint) ? [403] : []),
    ...(endpoint.path.includes('{') ? [404] : []),
    ...(hasContent ? [406] : []),
    ...(readsBody(endpoint) ? [413, 415, 422] : []),
    ...(isIdempotent(endpoint) ? [409] : []),
    // A long query can exceed the limit for the request head.
    ...(endpoint.query ? [431] : []),
    503,
  ];
}

/** Whether some who have logged in may not call it, whatever it is called with. */
function isForSome({ role, scope }: Endpoint): boolean {
  return (role !== 'public' && role !== 'viewer') || scope === 'person';
}

function contentOf(declared: Exclude<ResponseDeclaration, null>, components: Components, name: string): Json {
  const media = isMedia(declared) ? declared.media : { 'application/json': declared };
  return Object.fromEntries(
    Object.entries(media).map(([type, schema]) => [
      type,
      { schema: components.named(name, schema, 'output') },
    ]),
  );
}

function headersOf(endpoint: Endpoint, status: number): Json {
  const names = problemHeaders(status);
  if (status === 200 && endpoint.query?.shape['cursor']) names['Link'] = 'Link';
  if (status === 201) names['Location'] = 'Location';
  if (status < 300 && endpoint.errors?.includes(412)) names['ETag'] = 'ETag';
  if (status < 300 && endpoint.headers?.includes('Prefer')) names['Preference-Applied'] = 'PreferenceApplied';
  return refsOf(names);
}

function problemHeaders(status: number): Record<string, string> {
  return {
    'X-Request-Id': 'RequestId',
    ...(status === 429 || status === 503 ? { 'Retry-After': 'RetryAfter' } : {}),
    ...(status === 401 ? { 'WWW-Authenticate': 'Authenticate' } : {}),
  };
}

function refsOf(headers: Record<string, string>): Json {
  return Object.fromEntries(
    Object.entries(headers).map(([name, ref]) => [name, { $ref: `#/components/headers/${ref}` }]),
  );
}

function readsBody(endpoint: Endpoint): boolean {
  return endpoint.method !== 'GET' && endpoint.method !== 'DELETE';
}

function isIdempotent(endpoint: Endpoint): boolean {
  return (
    (endpoint.idempotent ?? (endpoint.method === 'POST' && !endpoint.rawBody)) && endpoint.role !== 'public'
  );
}
