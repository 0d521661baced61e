/** Configuration of agents of kind `a2a`: agents of other platforms, over A2A. */
import * as z from 'zod';
import { jsonObject, jsonObjectOf } from '../json-object.ts';
import { duration, retry, scalar, type AgentKind } from './kind.ts';

export const a2aConfiguration = z.looseObject({
  /** URL of the agent card. Default: discovered below the agent's `url`. */
  card_url: z.string().optional(),
  /** Default: the first binding of the card that is supported here. */
  binding: z.enum(['JSONRPC', 'HTTP+JSON', 'GRPC']).optional(),
  /** If false, poll even if the card declares streaming. */
  streaming: z.boolean().optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  /** Metadata sent with each message. */
  metadata: jsonObject.optional(),
  /** URIs of protocol extensions to announce. */
  extensions: z.array(z.string()).optional(),
  /** Accepted media types. Default: all. */
  accepted_output_modes: z.array(z.string()).optional(),
  /** Interval between polls of a task that is not streamed. Default: from 0.25 s, growing to 10 s. */
  poll_interval: duration.optional(),
  timeout: duration.optional(),
  retry: retry.optional(),
});

export type A2aConfiguration = z.infer<typeof a2aConfiguration>;

export const a2aKind: AgentKind = { configuration: a2aConfiguration, orUrl: 'card_url', keys: [] };
