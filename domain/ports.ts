/** What the domain needs from outside, as types: adapters call agents, the gateway talks to Temporal. */

import type { SourceKind } from '../contracts/source-kinds.ts';
import type { A2ATask, A2AUpdate, WireVersion } from '../contracts/a2a/objects.ts';
import type {
  CheckContainerInput,
  CheckedContainer,
  RemoteAsk,
  RemoteReply,
} from '../contracts/activities.ts';
import type { DslError } from '../contracts/dsl-error.ts';
import type { ProcessKind } from '../contracts/process-policy.ts';
import type { Overlap, ScheduleTimes } from '../contracts/schedules.ts';
import type { RunSignal, RunStart } from '../contracts/temporal.ts';
import type { ToolAnswer } from '../contracts/tool-loop.ts';

/**
 * An agent version, pinned when a run starts. Status, visibility and secrets are not included: they are read
 * at each call.
 */
export interface PinnedAgent {
  id: string;
  owner_id: string;
  name: string;
  version: string;
  /** The status at the time of pinning. */
  version_status?: 'draft' | 'published' | 'deprecated';
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

/** One invocation. `secret` reads the agent owner's store and returns null for an unknown name. */
export interface AgentCall {
  agent: PinnedAgent;
  input: unknown;
  idempotencyKey: string;
  timeoutMs: number;
  signal: AbortSignal;
  secret: (name: string) => Promise<string | null>;
  /** Id of one of the agent's skills. */
  skill?: string;
  /** The answer to the `ask` that an earlier call of the same agent returned. */
  reply?: RemoteReply;
  /** Makes an address that completes this call from outside; the same call gets one for the same job. */
  callback?: () => Promise<{ url: string; token: string }>;
  /** Nobody waits for the outcome any more that an earlier call `awaits`; `invoke` tells the counterpart. */
  withdraw?: Record<string, unknown>;
  progress?: CallProgress;
  /** Given if the output is to be shown as it grows. */
  partial?: PartialSink;
  /** One turn of a model with tools or a session. */
  turn?: ModelTurnCall;
  files?: CallFiles;
  /**
   * Asked once `signal` is aborted. False means that another worker continues the call, so the remote task
   * must not be cancelled.
   */
  cancelRequested?: () => Promise<boolean>;
  /** Takes what removes the rest of the call at the counterpart, once its outcome is stored. */
  cleanUp?: (work: () => Promise<void>) => void;
}

/** Messages are those of the adapter, as JSON; only it knows their form. */
export interface ModelTurnCall {
  /** What was said before the input of this call. */
  history: readonly ChatMessage[];
  /** The turns of this call so far, oldest first. */
  turns: readonly TurnMessages[];
  tools: readonly { name: string; description: string; parameters: Record<string, unknown> }[];
}

export interface ChatMessage {
  role: 'user' | 'assistant';
  text: string;
}

/** What was said to the model, and its answer; null for the turn that is to be made. */
export interface TurnMessages {
  answers: readonly ToolAnswer[];
  repair: string | null;
  messages: readonly unknown[] | null;
}

/** What a turn of a model gave; `output` is the agent's if it calls no tools. */
export interface ModelTurnResult {
  messages: readonly unknown[];
  text: string;
  calls: { id: string; name: string; arguments: unknown; problem?: string }[];
  /** Why there is no output. */
  problem?: string;
}

/**
 * Takes what a call produces, for those who follow the run. Nothing is kept, and no call waits for it. Shows
 * nothing before `redactBy`.
 */
export interface PartialSink {
  redactBy(redaction: PartialRedaction): void;
  /** Text that continues the output. */
  output(text: string): void;
  /** The output begins anew. */
  restart(): void;
  /** What the counterpart says that it does. */
  progress(text: string): void;
}

/** Redacts a text that is still growing. */
export interface PartialRedaction {
  /** `rest` may hold the beginning of a secret: it goes before the text that follows. */
  redactHead(text: string): { done: string; rest: string };
  redact(text: string): string;
}

/** Progress that a call stores for its repeat, should the worker die. */
export interface CallProgress {
  /** An earlier attempt has begun this call and may have reached the counterpart. */
  repeated: boolean;
  /** The last value kept; null if none. */
  kept: unknown;
  keep(value: Record<string, unknown>): Promise<void>;
}

/** The platform's files, with the rights of the run's owner. */
export interface CallFiles {
  /** A stream may have any size up to the file limit; its errors are rethrown unchanged. */
  store(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    file: { name: string; media_type: string },
  ): Promise<FileReference>;
  /** Null if the run's owner cannot read a file of that id. */
  read(fileId: string): Promise<{ bytes: Uint8Array; name: string; media_type: string } | null>;
  /** Like `read`, for any size; `chunks` may be called more than once. */
  open(fileId: string): Promise<{
    name: string;
    media_type: string;
    size: number;
    chunks(): Promise<AsyncIterable<Uint8Array>>;
  } | null>;
  /** Deletes a file that this run has stored; harmless for any other. */
  discard?(fileId: string): Promise<void>;
  /** A temporary URL that needs no login and outlives the call; null as for `read`. */
  link(fileId: string): Promise<string | null>;
}

/** A file in the input or output of an agent. */
export interface FileReference {
  file_id?: string;
  url?: string;
  name?: string;
  media_type?: string;
  size?: number;
  sha256?: string;
}

/** What an invocation consumed: counts of tokens and requests, duration in milliseconds. */
export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
  requests?: number;
  duration_ms?: number;
  model?: string;
  [key: string]: unknown;
}

/** `output` is plain JSON; `warnings` are sentences for the run's log. */
export interface AgentResult {
  output: unknown;
  usage?: Usage;
  warnings?: string[];
  /** The counterpart waits for an answer; `output` has no meaning then. */
  ask?: RemoteAsk;
  /**
   * The outcome comes by the call's `callback`; `output` has no meaning then. `withdraw` is for a later call.
   */
  awaits?: { withdraw?: Record<string, unknown> };
  /** Of a turn. */
  turn?: ModelTurnResult;
  /** Milliseconds after which a turn may be tried again, because the counterpart is too busy. */
  busy?: { after_ms: number; error: DslError };
}

/**
 * Throws `Fault` for every failure of the counterpart, and the signal's reason when the call is cancelled.
 */
export interface AgentAdapter {
  invoke(call: AgentCall): Promise<AgentResult>;
}

/**
 * A call of a function of the DSL, from `call: http` to `call: mcp`. In `with`, expressions are evaluated,
 * URI templates filled and named authentications resolved. `secret` reads the workflow owner's store, for
 * `{use: name}` of an authentication.
 */
export interface HttpCall {
  with: Record<string, unknown>;
  idempotencyKey: string;
  timeoutMs: number;
  signal: AbortSignal;
  secret: (name: string) => Promise<string | null>;
  /** Whether a condition of a subscription holds for a value. Throws `Fault` (expression). */
  test?: (condition: string, value: unknown) => boolean;
  /** Secret values that expressions put into `with`; they are redacted from the output and from errors. */
  sensitive?: readonly string[];
}

export type HttpResult = AgentResult;

/** `run: script`, `container` or `shell`, with its evaluated configuration in `with`. */
export interface ProcessCall extends HttpCall {
  kind: ProcessKind;
  progress?: CallProgress;
  /** As for `AgentCall`. */
  cancelRequested?: () => Promise<boolean>;
  /** The streams that the task returns. A process that writes more than their limit is a fault. */
  whole: readonly ProcessStream[];
  log: ProcessLog;
  files: ProcessFiles;
}

export type ProcessStream = 'stdout' | 'stderr';

/** Bytes of each stream that are in the run's log. `cut`: the log takes no more. */
export interface LoggedBytes extends Record<ProcessStream, number> {
  cut: boolean;
}

export interface LoggedText {
  stream: ProcessStream;
  text: string;
}

/** The run's log, for what a process writes while it runs. */
export interface ProcessLog {
  /** By earlier attempts of the call. */
  logged: LoggedBytes;
  /**
   * Adds entries, and notes that they are `from` these bytes `to` those. Adds nothing if the log has other
   * bytes by now, because another attempt of the call is under way or because the answer to an append was
   * lost, and if the run is over. @returns what the log has now
   */
  append(texts: readonly LoggedText[], from: LoggedBytes, to: LoggedBytes): Promise<LoggedBytes>;
}

export interface ProcessFiles {
  open: CallFiles['open'];
  /** Stores a file of the process. A repeat of the call gets the file that was stored under this name. */
  store(
    chunks: AsyncIterable<Uint8Array>,
    file: { name: string; media_type: string },
  ): Promise<FileReference>;
}

/** An invocation of an agent of kind `docker`. */
export type ContainerAgentCall = Pick<
  AgentCall,
  'agent' | 'input' | 'idempotencyKey' | 'timeoutMs' | 'signal' | 'secret' | 'progress' | 'cancelRequested'
> &
  Pick<ProcessCall, 'log' | 'files'>;

/** Secrets are redacted. */
export interface ContainerAgentResult extends Pick<ProcessResult, 'stdout' | 'stderr' | 'cut' | 'logged'> {
  output: unknown;
  files: FileReference[];
  warnings: string[];
}

/** Of an agent of kind `docker`, without a process. */
type ContainerAgentCheck = Pick<AgentCall, 'agent' | 'signal' | 'secret'>;

export interface ProcessRunner {
  /**
   * Whether an invocation would get as far as its container.
   * @returns what the engine says; throws `Fault` as `invoke`
   */
  check(agent: ContainerAgentCheck): Promise<string>;
  /** Throws `Fault` as `run`, and for a process that fails. */
  invoke(call: ContainerAgentCall): Promise<ContainerAgentResult>;
  /** Called when the outcome of a process is stored: nothing of it is needed any more. */
  release(idempotencyKey: string): Promise<void>;
  /** Throws `Fault` if the installation does not allow the process, and at its limits. */
  run(call: ProcessCall): Promise<ProcessResult>;
}

/** Secrets are redacted. */
export interface ProcessResult {
  code: number;
  stdout: string;
  stderr: string;
  /** The streams of which only the beginning is kept. */
  cut: readonly ProcessStream[];
  /** The run's log has what the process wrote. */
  logged: boolean;
  /** Null: the process had no folder for them. */
  files: FileReference[] | null;
  /** For the run's log. */
  warnings: string[];
}

/** A file at a URL that a user named. */
export interface FileRequest {
  url: string;
  /** For the whole transfer. */
  timeoutMs: number;
  signal: AbortSignal;
}

export interface RemoteFile {
  /** As the server declares it; null without a declaration. */
  media_type: string | null;
  /** From `Content-Disposition`, else the last segment of the URL. */
  name: string;
  /**
   * The body as it arrives. Throws `Fault` if the connection breaks, ends early or stalls, or if the body
   * does not match the server's checksum.
   */
  chunks: AsyncIterable<Uint8Array>;
  /** Closes the connection; harmless when it is closed already. */
  close(): void;
}

/** The calls that activities make to counterparts outside. */
export interface Adapters {
  invoke(call: AgentCall): Promise<AgentResult>;
  http(call: HttpCall): Promise<HttpResult>;
  openapi(call: HttpCall): Promise<HttpResult>;
  a2a(call: HttpCall): Promise<HttpResult>;
  grpc(call: HttpCall): Promise<HttpResult>;
  mcp(call: HttpCall): Promise<HttpResult>;
  /** `$authorization` of a call: what its authentication policy resolves to; null if it has none. */
  authorization(policy: unknown, call: HttpCall): Promise<{ scheme: string; parameter: string } | null>;
  asyncapi(call: HttpCall): Promise<HttpResult>;
  /**
   * Applies the egress policy; throws `Fault`. A `Content-Length` above `maxBytes` is refused here; the
   * reader checks the bytes that arrive.
   */
  openFile(request: FileRequest & { maxBytes: number }): Promise<RemoteFile>;
}

/**
 * The connection to Temporal. Its outages are thrown as `TemporalUnavailable`: the row stays and the
 * reconciler tries again.
 */
export interface TemporalGateway {
  /** Starts a run's workflow; succeeds if it was started before. */
  start(run: RunStart): Promise<void>;
  /** `gone`: there is no such execution, or it is closed. */
  signal(runId: string, signal: RunSignal): Promise<'sent' | 'gone'>;
  /** Asks the execution to cancel itself; harmless where it has ended. */
  cancel(runId: string): Promise<void>;
  terminate(runId: string, reason: string): Promise<void>;
  /** The execution's status in Temporal's terms, in lower case; null if Temporal does not know it. */
  describe(runId: string): Promise<string | null>;
  /**
   * Removes all executions of a run. `running`: the last one has not closed yet, so nothing is removed;
   * `none`: Temporal has none (any more). @throws TemporalRefused
   */
  removeHistory(runId: string): Promise<'removed' | 'running' | 'none'>;
  /** Which Temporal gave the namespace; another one of the same name has another. */
  namespaceId(): Promise<string>;
  /** How long Temporal keeps executions after their end. @throws TemporalRefused */
  historyRetentionMs(): Promise<number>;
  /**
   * Why a closed execution ended, in Temporal's words, at most 500 characters; null if Temporal gives no
   * reason.
   */
  closeReason(runId: string): Promise<string | null>;
  /**
   * Runs whose execution has failed, been cancelled, been terminated or timed out since then. At most the
   * latest 10,000.
   */
  abnormallyClosed(since: Date): Promise<{ runId: string; status: string }[]>;
  /**
   * The attempt number of the execution's pending workflow task, from 1; 0 if none is pending or the
   * execution is closed.
   */
  workflowTaskAttempt(runId: string): Promise<number>;
  /**
   * Runs whose workflow tasks fail, as the server reports them; at most 100, none if the server keeps no such
   * list.
   */
  troubled(): Promise<string[]>;
  /** Makes the schedule what is wanted, whatever it was. @returns why Temporal refuses it, or null */
  putSchedule(schedule: WantedSchedule): Promise<string | null>;
  /** Harmless if there is none. */
  deleteSchedule(workflowId: string): Promise<void>;
  /**
   * The next ten times; none while it is paused, null if Temporal has no such schedule, or still has an
   * earlier generation of it some seconds later.
   */
  nextTimes(workflowId: string, generation: string): Promise<Date[] | null>;
  /** The times from `from` to `to`, both included, without their jitter; Temporal names at most 1,000. */
  timesBetween(schedule: WantedSchedule, from: Date, to: Date): Promise<Date[]>;
  ping(): Promise<boolean>;
  /**
   * Asks a worker with the container engine about an agent of kind `docker`. Null: none has answered in time.
   */
  checkContainer(agent: CheckContainerInput, timeoutMs: number): Promise<CheckedContainer | null>;
  /** Resumes a target's deliveries now; starts its workflow if none runs. */
  wakeDelivery(target: DueTarget): Promise<void>;
}

/** Something is to be sent to it. */
export interface DueTarget {
  id: string;
  /** The user or team of whose share it takes; null for notifications, which go to many people. */
  holder_id: string | null;
}

/** The schedule of a workflow, by the clock. */
export interface WantedSchedule {
  workflow_id: string;
  workflow_name: string;
  owner_id: string;
  times: Exclude<ScheduleTimes, { kind: 'after' | 'on' }>;
  paused: boolean;
  overlap: Overlap;
  catch_up_seconds: number;
  jitter_seconds: number;
  /** Grows with each change. */
  generation: string;
}

/** A mail to one person. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** With its angle brackets; the same in every attempt, so that receivers can drop duplicates. */
  messageId: string;
  /** Where one request turns such mails off (RFC 8058). */
  unsubscribe?: string;
}

/** `permanent`: another attempt would be refused too. `gone`: the receiver does not exist any more. */
export type SendOutcome =
  | { sent: true }
  | { sent: false; permanent: boolean; error: string; retryAfterMs?: number | null; gone?: boolean };

/** Sends mails through the server that the operator named. */
export interface Mailer {
  send(mail: Mail): Promise<SendOutcome>;
  close(): void;
}

/** Sends deliveries: POST to URLs that users named. */
export interface DeliverySender {
  /**
   * `refusal` says for the log why there is no response; a URL that the egress policy refuses is not
   * contacted. The response body is not kept. Throws the signal's reason when it is aborted.
   */
  send(
    request: DeliveryRequest,
  ): Promise<{ status: number; retry_after_ms: number | null } | { refusal: string }>;
}

interface DeliveryRequest {
  url: string;
  /** Names are in lower case. */
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Writes push notifications as the receiver's version of A2A has them. */
export interface PushNotificationFormat {
  /** Version 1.0 sends the update, version 0.3 the whole task at this update. */
  write(version: WireVersion, update: A2AUpdate, task: () => A2ATask): { content_type: string; body: string };
}

export class TemporalUnavailable extends Error {}

/** Temporal does not do it, however often it is asked, until somebody changes a right or a setting. */
export class TemporalRefused extends Error {
  /** The name of the gRPC status, such as `PERMISSION_DENIED`. */
  readonly status: string;

  constructor(status: string, options?: ErrorOptions) {
    super(`Temporal answered ${status}`, options);
    this.status = status;
  }
}

/** The secrets of a stored configuration: for what is sent, and in what comes back. */
export interface SecretGuard {
  /** Replaces placeholders in all strings of a stored value. */
  fill(value: unknown): unknown;
  /** A copy that can be stored, without secrets. Throws `Fault` if it is nested too deeply. */
  clean(value: unknown): unknown;
  redact(text: string): string;
}

/** Throws `Fault` (configuration) if the configuration names a secret that the owner does not have. */
export type GuardSecrets = (
  stored: unknown,
  secret: (name: string) => Promise<string | null>,
) => Promise<SecretGuard>;

/** Fetches what definitions take from elsewhere: functions and schemas. */
export interface ResourceFetcher {
  /**
   * `authentication` is a policy of the DSL without expressions; `secret` reads the secrets that it names.
   * Throws `Fault`, also for content that is neither JSON nor YAML.
   */
  fetch(request: {
    url: string;
    authentication: unknown;
    secret: (name: string) => Promise<string | null>;
    timeoutMs: number;
    signal: AbortSignal;
  }): Promise<{
    document: unknown;
    /** `sha256:` and the digest of the bytes, hexadecimal. */
    digest: string;
    bytes: number;
  }>;
  close(): Promise<void>;
}

/** An agent as a source describes it. */
export interface SourceOffer {
  /** Names it at the source: an operation, a tool, an assistant. */
  select: string;
  fields: {
    name: string;
    description: string | null;
    type: string;
    execution_type: string | null;
    url: string | null;
    configuration: Record<string, unknown>;
    input_schema: Record<string, unknown> | null;
    /** Null unless it was asked for. */
    output_schema: Record<string, unknown> | null;
    capabilities_streaming: boolean;
    provider_name: string | null;
  };
  skills: {
    name: string;
    description: string | null;
    tags: string[];
    examples: string[];
    input_modes: string[];
    output_modes: string[];
  }[];
}

type CounterpartRequest = Pick<AgentCall, 'agent' | 'secret' | 'timeoutMs' | 'signal'>;

/** Reads what other platforms offer, and tries counterparts. Both throw `Fault`. */
export interface AgentSources {
  /**
   * `agent`: whose credentials count. `select`: what to read; null for all. `outputs`: schemas of answers,
   * too.
   */
  read(
    request: CounterpartRequest & {
      from: SourceKind;
      url: string;
      select: readonly string[] | null;
      outputs: boolean;
    },
  ): Promise<SourceOffer[]>;
  /** @returns a sentence for people */
  check(request: CounterpartRequest & { kind: string }): Promise<string>;
  close(): Promise<void>;
}

/** An external OpenID Connect issuer, with what this platform is called there. */
export interface IssuerAccess {
  /** `iss` of its tokens, and where its configuration is found. */
  issuer: string;
  client_id: string;
  /** Null: a public client, which PKCE alone protects. */
  client_secret: string | null;
  /** Null: the address that the issuer's configuration names. */
  jwks_uri: string | null;
  scopes: readonly string[];
}

/** What binds a log-in at an issuer to the browser that began it. */
export interface LogInRequest {
  redirect_uri: string;
  state: string;
  nonce: string;
  /** PKCE. */
  verifier: string;
  /** The issuer has to ask for the credentials again. */
  fresh: boolean;
}

/** A person as an issuer tells of them, after all checks. */
export interface IssuedIdentity {
  subject: string;
  claims: Record<string, unknown>;
  id_token: string;
  /** `sid` of the session there. */
  session: string | null;
  /** When the issuer asked for the credentials; null if it does not tell. */
  authenticated_at: Date | null;
}

/** Talks to issuers under the egress policy. Every method throws `IdentityRefusal`. */
export interface IdentityProviders {
  /** The address at the issuer where the browser goes. */
  logInUrl(issuer: IssuerAccess, request: LogInRequest): Promise<string>;
  /** Redeems the code in the address with which the browser came back. */
  redeem(issuer: IssuerAccess, request: LogInRequest, address: URL): Promise<IssuedIdentity>;
  /** Where the browser ends its session at the issuer; null if the issuer has no such page. */
  logOutUrl(issuer: IssuerAccess, idToken: string | null, redirectUri: string): Promise<string | null>;
  /** The claims of a logout token (OpenID Connect Back-Channel Logout 1.0). */
  logOutClaims(
    issuer: IssuerAccess,
    token: string,
  ): Promise<{ subject: string | null; session: string | null }>;
  /** The claims of an access token for one of the audiences (RFC 9068), after its signature is checked. */
  tokenClaims(
    issuer: IssuerAccess,
    token: string,
    audiences: readonly string[],
  ): Promise<Record<string, unknown>>;
  /** Reads configuration and keys, for admins. */
  check(issuer: IssuerAccess): Promise<IssuerFacts>;
  close(): Promise<void>;
}

interface IssuerFacts {
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  end_session_endpoint: string | null;
  userinfo_endpoint: string | null;
  keys: number;
}
