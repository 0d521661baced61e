/** Configuration of agents of kind `api`: HTTP services: one request for each invocation. */
import * as z from 'zod';
import { jsonObject, jsonObjectOf } from '../json-object.ts';
import { duration, retry, scalar, type AgentKind } from './kind.ts';

export const apiConfiguration = z.looseObject({
  /** Absolute URL. `{name}` is replaced with the input's top-level field. Default: the agent's `url`. */
  endpoint: z.string().optional(),
  /** Default POST. */
  method: z.string().optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  query: jsonObject.optional(),
  /**
   * JSON whose strings may contain `${ … }` over the input. Default: the input, sent as query for methods
   * without a body.
   */
  body: z.unknown().optional(),
  /**
   * How input files are sent: as links, as base64 content, as multipart form parts, or a single file as the
   * body. Default `link`.
   */
  files: z.enum(['link', 'base64', 'multipart', 'body']).optional(),
  /**
   * Whether the response content becomes a file: unless it is JSON or text (`auto`, default), always
   * (`file`), or never (`inline`).
   */
  output: z.enum(['auto', 'file', 'inline']).optional(),
  /**
   * jq on the response content, with `$response` = `{status, headers, body}`; or an object whose strings
   * contain `${ … }`.
   */
  response: z.union([z.string(), jsonObject]).optional(),
  timeout: duration.optional(),
  retry: retry.optional(),
});

export type ApiConfiguration = z.infer<typeof apiConfiguration>;

export const apiKind: AgentKind = { configuration: apiConfiguration, orUrl: 'endpoint', keys: [] };
