/** The DSL's `call: openapi` (dsl-reference.md "OpenAPI Call"): the document says how the operation is called. */
import { fault } from '../contracts/fault.ts';
import type { HttpCall, HttpResult } from '../domain/ports.ts';
import { endpointOf, exchange, standardHeaders } from './http-exchange.ts';
import type { HttpTools, Send } from './http-exchange.ts';
import { createDocumentSource, isFields } from './openapi/document.ts';
import type { DocumentSource, Get } from './openapi/document.ts';
import { findOperation } from './openapi/operation.ts';
import { requestOf } from './openapi/request.ts';
import type { Load } from './openapi/references.ts';

/** Documents that one call may need, by `$ref`. */
const MAX_DOCUMENTS = 20;

export function createOpenApiCaller(tools: HttpTools, documents: DocumentSource = createDocumentSource()): { openapi(call: HttpCall): Promise<HttpResult> } {
  return {
    openapi: (call) =>
      exchange(tools, call, async (send) => {
        const { document: resource, operationId, parameters, authentication, output, redirect } = call.with;
        const { uri, authentication: access } = endpointOf(isFields(resource) ? resource['endpoint'] : undefined, 'document.endpoint');
        if (typeof operationId !== 'string' || operationId === '') throw fault('configuration', '"operationId" must name an operation');
        if (parameters !== undefined && parameters !== null && !isFields(parameters)) throw fault('configuration', '"parameters" must be an object');
        const load = loader(documents, send, { uri, access });
        const operation = await findOperation(await load(uri), operationId, load);
        const request = await requestOf(operation, parameters ?? {}, load);
        const headers = { ...standardHeaders(call), ...request.headers, ...(request.body === null ? {} : { 'content-type': request.body.contentType }) };
        const { method, url } = request;
        return { method, shownMethod: operation.method, url, headers, body: request.body?.body ?? null, authentication, output, redirect };
      }),
  };
}

/** The credentials of the document go to its own origin only. */
function loader(documents: DocumentSource, send: Send, main: { uri: string; access: unknown }): Load {
  let count = 0;
  return (url) => {
    if (++count > MAX_DOCUMENTS) throw fault('configuration', `The OpenAPI document needs more than ${MAX_DOCUMENTS} others`);
    if (!URL.canParse(url)) throw fault('configuration', 'The address of the OpenAPI document is not an absolute URL');
    const access = URL.canParse(main.uri) && new URL(url).origin === new URL(main.uri).origin ? main.access : undefined;
    const get: Get = async (address, headers, maxBytes) => (await send({ url: address, method: 'GET', headers, maxBytes }, access)).answer;
    return documents.load(url, get, { shared: access === undefined });
  };
}
