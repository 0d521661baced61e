/** Configuration of agents of kind `api`: HTTP services: one request for each invocation. */
import * as z from 'zod';
import { jsonObject, jsonObjectOf } from '../json-object.ts';
import { duration, retry, scalar, type AgentKind } from './kind.ts';

const words = z.array(z.string()).max(50);
const longJob = z.looseObject({
  mode: z.enum(['poll', 'callback']),
  /** jq on the answer that gives the address of the state. Default: from the usual headers and keys. */
  status_url: z.string().optional(),
  /** Between two polls. Default: what `Retry-After` says, else from 1 s, growing to 30 s. */
  interval: duration.optional(),
  /** jq that gives the word for the state. Default: `status`, `state` and the like. */
  state: z.string().optional(),
  /** The words for a job that has succeeded, and for one that has failed. Default: the usual ones. */
  succeeded: words.optional(),
  failed: words.optional(),
  /** jq that gives the reason of a failure. */
  error: z.string().optional(),
  /** How to cancel the job: a request to the address of its state, or to a path below it. Default: none. */
  cancel: z
    .union([z.boolean(), z.looseObject({ method: z.string().optional(), path: z.string().optional() })])
    .optional(),
  /** For `callback`: the header with the address. Default: `X-Callback-Url`. */
  header: z.string().optional(),
});

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
  /**
   * The service takes the job, and its outcome comes later: its state is asked for (`poll`), or it calls an
   * address that it was given (`callback`). docs/agents.md#long-jobs
   */
  async: longJob.optional(),
  /** Path or URL on the same server that a check asks for by GET. */
  check: z.string().optional(),
  timeout: duration.optional(),
  retry: retry.optional(),
});

export type ApiConfiguration = z.infer<typeof apiConfiguration>;

export const apiKind: AgentKind = { configuration: apiConfiguration, orUrl: 'endpoint', keys: [] };
