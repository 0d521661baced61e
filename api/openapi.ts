/** OpenAPI 3.1 from the endpoint declarations: the schemas that validate are the schemas that document. */
import * as z from 'zod';

import { consumedTypes, isMedia, type Endpoint, type ResponseDeclaration } from './endpoint.ts';
import { strict } from './middleware/guard.ts';
import { createComponents, type Components, type Json } from './openapi-schemas.ts';
import { problemSchema } from './schemas.ts';

const problemTitles: Record<number, string> = {
  400: 'What was sent cannot be read: malformed, or an unknown query parameter.',
  401: 'There is no access token, or it is not valid.',
  403: 'The role does not allow it.',
  404: 'There is no such thing, or it is not for the caller to see.',
  406: 'The answer exists in no media type that the caller accepts.',
  409: 'The state does not allow it.',
  410: 'It is over.',
  412: 'It was changed since it was read.',
  413: 'The body is too large.',
  415: 'The body is in a media type that is not read here.',
  416: 'There are no such bytes; `Content-Range` says how many there are.',
  422: 'The body is not valid; all mistakes at once.',
  429: 'Too many attempts, or requests where a limit is configured.',
  431: 'The address and the headers are too long together.',
  503: 'The database is away.',
};

export interface OpenApiDocument {
  openapi: string;
  info: Json;
  servers: Json[];
  paths: Record<string, Record<string, Json>>;
  components: Json;
  [key: string]: unknown;
}

export function createOpenApi(endpoints: readonly Endpoint[], baseUrl: string): OpenApiDocument {
  const components = createComponents();
  const problem = components.schema(problemSchema, 'output');
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of endpoints.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = operation(endpoint, components, problem);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Cadenza',
      version: '1.0.0',
      description: 'Agent orchestration: register agents, compose them into durable workflows, decide human-in-the-loop tasks. ' +
        'Lists are plain arrays, the next page is in the `Link` header. Errors are RFC 9457 problems with a stable `code`. ' +
        'Every agent is an A2A agent too (protocol 1.0 and 0.3): JSON-RPC at `POST /a2a/{agent_id}`, HTTP+JSON below it (`/message:send`, `/tasks/{task_id}`, …; 0.3 below `/v1`), ' +
        'its card at `/a2a/{agent_id}/.well-known/agent-card.json`. Their shapes are the protocol\'s (a2a-protocol.org) and not repeated here.',
    },
    servers: [{ url: baseUrl }, { url: `${baseUrl}/api/v1` }],
    security: [{ bearer: [] }],
    tags: [...new Set(endpoints.flatMap((endpoint) => endpoint.tags))].toSorted().map((name) => ({ name })),
    paths,
    components: {
      schemas: components.all(),
      headers: {
        RequestId: { description: 'Names the request in our logs; a caller\'s own is kept.', schema: { type: 'string' } },
        Link: { description: 'The next page: `<absolute URL>; rel="next"` (RFC 8288). Missing on the last one.', schema: { type: 'string' } },
        Location: { description: 'Where the new record is.', schema: { type: 'string' } },
        ETag: { description: 'For `If-Match`.', schema: { type: 'string' } },
        RetryAfter: { description: 'Seconds.', schema: { type: 'integer' } },
        Authenticate: { schema: { type: 'string' } },
      },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'From `POST /auth/token`.' } },
    },
  };
}

function operation(endpoint: Endpoint, components: Components, problem: Json): Json {
  const open = endpoint.role === 'public';
  return {
    operationId: endpoint.operationId,
    summary: endpoint.summary,
    ...(endpoint.description ? { description: endpoint.description } : {}),
    tags: endpoint.tags,
    ...(open ? { security: [] } : endpoint.anonymousToo ? { security: [{ bearer: [] }, {}] } : {}),
    'x-role': endpoint.role,
    parameters: parameters(endpoint, components),
    ...requestBody(endpoint, components),
    responses: responses(endpoint, components, problem),
  };
}

function parameters(endpoint: Endpoint, components: Components): Json[] {
  const names = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
  const inPath = names.map((name) => {
    const schema = endpoint.params?.shape[name];
    return { name, in: 'path', required: true, schema: schema ? components.schema(schema, 'input') : { type: 'string' } };
  });
  const inQuery = Object.entries(endpoint.query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...json } = components.schema(schema, 'input');
    const required = !z.safeParse(schema, undefined).success;
    return { name, in: 'query', ...(required ? { required } : {}), ...(description ? { description } : {}), schema: json };
  });
  const inHeader: Json[] = [];
  if (isIdempotent(endpoint)) {
    inHeader.push({
      name: 'Idempotency-Key', in: 'header', description: 'A repeat with the same key and body within 24 h gives the first answer again.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]([ -~]*[!-~])?$' },
    });
  }
  if (endpoint.errors?.includes(412)) {
    inHeader.push({ name: 'If-Match', in: 'header', description: 'The `ETag` that was read.', schema: { type: 'string' } });
  }
  return [...inPath, ...inQuery, ...inHeader];
}

function requestBody(endpoint: Endpoint, components: Components): Json {
  if (!readsBody(endpoint)) {
    return {};
  }
  if (endpoint.rawBody) {
    const content = consumedTypes(endpoint).map((type) => {
      const schema = endpoint.bodies?.[type];
      return [type, schema ? { schema: components.schema(schema, 'input') } : {}];
    });
    return { requestBody: { required: true, content: Object.fromEntries(content) } };
  }
  const schemaOf = (type: string) => strict(endpoint.bodies?.[type] ?? endpoint.body ?? z.object({}));
  const types = consumedTypes(endpoint);
  const required = !types.some((type) => schemaOf(type).safeParse({}).success);
  const content = Object.fromEntries(types.map((type) => [type, { schema: components.schema(schemaOf(type), 'input') }]));
  return { requestBody: { required, content } };
}

function responses(endpoint: Endpoint, components: Components, problem: Json): Json {
  const problems = new Set(endpoint.errors ?? []);
  for (const status of impliedProblems(endpoint)) {
    problems.add(status);
  }
  const statuses = new Set([...Object.keys(endpoint.responses).map(Number), ...problems]);
  return Object.fromEntries([...statuses].toSorted((a, b) => a - b).map((status) => {
    const declared = endpoint.responses[status];
    const content = {
      ...(declared ? contentOf(declared, components) : {}),
      ...(problems.has(status) ? { 'application/problem+json': { schema: problem } } : {}),
    };
    const description = problemTitles[status] ?? (declared === null ? 'Done.' : 'Good.');
    return [String(status), { description, headers: headersOf(endpoint, status), ...(Object.keys(content).length > 0 ? { content } : {}) }];
  }));
}

/** Problems that follow from the declaration itself. */
function impliedProblems(endpoint: Endpoint): number[] {
  const hasContent = Object.values(endpoint.responses).some((declared) => declared !== null);
  return [
    400,
    ...(endpoint.role === 'public' ? [] : [401, 429]),
    ...(endpoint.role === 'public' || endpoint.role === 'viewer' ? [] : [403]),
    ...(endpoint.path.includes('{') ? [404] : []),
    ...(hasContent ? [406] : []),
    ...(readsBody(endpoint) ? [413, 415, 422] : []),
    ...(isIdempotent(endpoint) ? [409] : []),
    // Long queries are part of the head of a request.
    ...(endpoint.query ? [431] : []),
    503,
  ];
}

function contentOf(declared: Exclude<ResponseDeclaration, null>, components: Components): Json {
  const media = isMedia(declared) ? declared.media : { 'application/json': declared };
  return Object.fromEntries(Object.entries(media).map(([type, schema]) => [type, { schema: components.schema(schema, 'output') }]));
}

function headersOf(endpoint: Endpoint, status: number): Json {
  const names: Record<string, string> = { 'X-Request-Id': 'RequestId' };
  if (status === 200 && endpoint.query?.shape['cursor']) names['Link'] = 'Link';
  if (status === 201) names['Location'] = 'Location';
  if (status < 300 && endpoint.errors?.includes(412)) names['ETag'] = 'ETag';
  if (status === 429 || status === 503) names['Retry-After'] = 'RetryAfter';
  if (status === 401) names['WWW-Authenticate'] = 'Authenticate';
  return Object.fromEntries(Object.entries(names).map(([name, ref]) => [name, { $ref: `#/components/headers/${ref}` }]));
}

function readsBody(endpoint: Endpoint): boolean {
  return endpoint.method !== 'GET' && endpoint.method !== 'DELETE';
}

function isIdempotent(endpoint: Endpoint): boolean {
  return (endpoint.idempotent ?? (endpoint.method === 'POST' && !endpoint.rawBody)) && endpoint.role !== 'public';
}
