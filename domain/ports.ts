/** What the domain needs from outside, as types: adapters reach agents, the gateway reaches Temporal. */

import type { RemoteAsk, RemoteReply } from '../contracts/activities.ts';
import type { RunSignal, RunStart } from '../contracts/temporal.ts';

export { Fault } from '../contracts/fault.ts';

/** An agent version as a run holds it from its start on: what is read live (status, visibility, secrets) is not in here. */
export interface PinnedAgent {
  id: string;
  owner_id: string;
  name: string;
  version: string;
  type: string;
  execution_type: string | null;
  url: string | null;
  configuration: Record<string, unknown>;
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown>;
  authentication_type: string | null;
  authentication_config: Record<string, unknown> | null;
  capabilities_streaming: boolean;
}

/** One invocation. `secret` reads the agent owner's store, null where the name is unknown; `heartbeat` keeps a long call alive. */
export interface AgentCall {
  agent: PinnedAgent;
  input: unknown;
  idempotencyKey: string;
  timeoutMs: number;
  signal: AbortSignal;
  secret: (name: string) => Promise<string | null>;
  heartbeat: (details?: unknown) => void;
  /** Id of one of the agent's skills. */
  skill?: string;
  /** The answer to what an earlier call of the same agent gave as `ask`. */
  reply?: RemoteReply;
  progress?: CallProgress;
  files?: CallFiles;
  /** Asked while `signal` is aborted. False: the work goes on elsewhere, so the counterpart's may not be ended. */
  cancelRequested?: () => Promise<boolean>;
}

/** What a call that outlives a worker leaves for its repeat. */
export interface CallProgress {
  /** Another attempt has begun this call before, and has perhaps reached the counterpart. */
  repeated: boolean;
  /** What was kept last; null if nothing. */
  kept: unknown;
  keep(value: Record<string, unknown>): Promise<void>;
}

/** The platform's files, with the rights of who runs the call. */
export interface CallFiles {
  /** A stream may have any size up to the limit of files; its errors come out as they are. */
  store(content: Uint8Array | AsyncIterable<Uint8Array>, file: { name: string; media_type: string }): Promise<FileReference>;
  /** null if there is none of that id for who runs the call. */
  read(fileId: string): Promise<{ bytes: Uint8Array; name: string; media_type: string } | null>;
  /** As `read`, of any size; `chunks` may be called more than once. */
  open(fileId: string): Promise<{ name: string; media_type: string; size: number; chunks(): Promise<AsyncIterable<Uint8Array>> } | null>;
  /** An address that gives the file without a log-in until some time after the call; null as for `read`. */
  link(fileId: string): Promise<string | null>;
}

/** A file as agents take and give it. */
export interface FileReference {
  file_id?: string;
  url?: string;
  name?: string;
  media_type?: string;
  size?: number;
  sha256?: string;
}

/** What an invocation consumed; counts of tokens and requests, duration in milliseconds. */
export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
  requests?: number;
  duration_ms?: number;
  model?: string;
  [key: string]: unknown;
}

/** `output` is plain JSON. `warnings` are sentences for the run's log. */
export interface AgentResult {
  output: unknown;
  usage?: Usage;
  warnings?: string[];
  /** The counterpart waits for an answer; `output` means nothing then. */
  ask?: RemoteAsk;
}

/** Throws `Fault` for every failure of the counterpart, and the signal's reason when the call is cancelled. */
export interface AgentAdapter {
  invoke(call: AgentCall): Promise<AgentResult>;
}

/**
 * The definition language's `call: http`, `call: openapi` and `call: a2a`. `with` has its expressions evaluated, its URI templates filled
 * and its named authentications put in place; `secret` reads the workflow owner's store, for `{use: name}` of an authentication.
 */
export interface HttpCall {
  with: Record<string, unknown>;
  idempotencyKey: string;
  timeoutMs: number;
  signal: AbortSignal;
  secret: (name: string) => Promise<string | null>;
  /** Secret values that evaluated expressions put into `with`: kept out of the output and of errors. */
  sensitive?: readonly string[];
  heartbeat: (details?: unknown) => void;
}

export type HttpResult = AgentResult;

/** A file at an address that a user named. */
export interface FileRequest {
  url: string;
  /** For all of it. */
  timeoutMs: number;
  signal: AbortSignal;
}

export interface RemoteFile {
  /** As the server says it; null where it says nothing. */
  media_type: string | null;
  /** From `Content-Disposition`, else the end of the address. */
  name: string;
  /** While it comes. Throws `Fault` where the connection breaks, ends early or falls silent, or the server's own checksum does not fit. */
  chunks: AsyncIterable<Uint8Array>;
  /** Ends the connection; harmless when it has ended. */
  close(): void;
}

/** What activities are given: the way to every kind of counterpart. */
export interface Adapters {
  invoke(call: AgentCall): Promise<AgentResult>;
  http(call: HttpCall): Promise<HttpResult>;
  openapi(call: HttpCall): Promise<HttpResult>;
  a2a(call: HttpCall): Promise<HttpResult>;
  /** Behind the egress policy; throws `Fault`. `maxBytes` is checked by who reads, and here where the server announces more. */
  openFile(request: FileRequest & { maxBytes: number }): Promise<RemoteFile>;
}

/** The way to Temporal. `unavailable` is thrown as `TemporalUnavailable`: the row stays, the reconciler goes on. */
export interface TemporalGateway {
  /** Starts a run's workflow; one that was started before is success. */
  start(run: RunStart): Promise<void>;
  /** `gone`: there is no such execution, or it is closed. */
  signal(runId: string, signal: RunSignal): Promise<'sent' | 'gone'>;
  terminate(runId: string, reason: string): Promise<void>;
  /** The execution's status as Temporal names it, lower case; null if it knows none. */
  describe(runId: string): Promise<string | null>;
  /** Executions of runs that ended otherwise than completed or continued since then. */
  abnormallyClosed(since: Date): Promise<{ runId: string; status: string }[]>;
  ping(): Promise<boolean>;
  /** Makes a target's deliveries go on now; starts its workflow if none runs. */
  wakeDelivery(targetId: string): Promise<void>;
}

/** The way out for deliveries: POST to addresses that users named. */
export interface DeliverySender {
  /**
   * `refusal`: no answer came, in words for the log; nothing was sent where the rules refuse the address. The body of an
   * answer is not kept. Throws the signal's reason when it is aborted.
   */
  send(request: DeliveryRequest): Promise<{ status: number; retry_after_ms: number | null } | { refusal: string }>;
}

export interface DeliveryRequest {
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export class TemporalUnavailable extends Error {}
