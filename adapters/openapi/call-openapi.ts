/**
 * The DSL's `call: openapi` (dsl-reference.md "OpenAPI Call"): the document describes how to call the
 * operation.
 */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { HttpCall, HttpResult } from '../../domain/ports.ts';
import { endpointOf, exchange, standardHeaders, type HttpTools, type Send } from '../http/call-exchange.ts';
import { createDocumentSource, type DocumentSource, type Get } from './document.ts';
import { findOperation } from './operation.ts';
import { requestOf } from './request.ts';
import type { Load } from './references.ts';

/** Limits the documents that one call may load through `$ref`. */
const MAX_DOCUMENTS = 20;

export function createOpenApiCaller(
  tools: HttpTools,
  documents: DocumentSource = createDocumentSource(),
): { openapi(call: HttpCall): Promise<HttpResult> } {
  return {
    openapi: (call) =>
      exchange(tools, call, async (send) => {
        const { document: resource, operationId, parameters, authentication, output, redirect } = call.with;
        const { uri, authentication: access } = endpointOf(
          isRecord(resource) ? resource['endpoint'] : undefined,
          'document.endpoint',
        );
        if (typeof operationId !== 'string' || operationId === '')
          throw fault('configuration', '"operationId" must name an operation');
        if (parameters !== undefined && parameters !== null && !isRecord(parameters))
          throw fault('configuration', '"parameters" must be an object');
        const load = loader(documents, send, { uri, access });
        const operation = await findOperation(await load(uri), operationId, load);
        const request = await requestOf(operation, parameters ?? {}, load);
        const headers = {
          ...standardHeaders(call),
          ...request.headers,
          ...(request.body === null ? {} : { 'content-type': request.body.contentType }),
        };
        const { method, url } = request;
        return {
          method,
          shownMethod: operation.method,
          url,
          headers,
          body: request.body?.body ?? null,
          authentication,
          output,
          redirect,
        };
      }),
  };
}

/** The document's credentials are sent only to its own origin. */
function loader(documents: DocumentSource, send: Send, main: { uri: string; access: unknown }): Load {
  let count = 0;
  return (url) => {
    if (++count > MAX_DOCUMENTS)
      throw fault('configuration', `The OpenAPI document needs more than ${MAX_DOCUMENTS} others`);
    if (!URL.canParse(url))
      throw fault('configuration', 'The address of the OpenAPI document is not an absolute URL');
    const access =
      URL.canParse(main.uri) && new URL(url).origin === new URL(main.uri).origin ? main.access : undefined;
    const get: Get = async (address, headers, maxBytes) =>
      (await send({ url: address, method: 'GET', headers, maxBytes }, access)).answer;
    return documents.load(url, get, { shared: access === undefined });
  };
}
