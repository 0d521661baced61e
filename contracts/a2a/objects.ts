/**
 * A2A 1.0 objects as ProtoJSON, in which the database stores them and the bindings send them. The SDK's
 * codecs, version 0.3 and gRPC are in api/a2a.
 */

/** The version of the protocol that a client speaks. */
export type WireVersion = '1.0' | '0.3';

export const TASK_STATES = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const;
export type A2ATaskState = (typeof TASK_STATES)[number];

const TERMINAL: readonly string[] = [
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
];
const INTERRUPTED: readonly string[] = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'];

/** A terminal task accepts no more messages and has no more events. */
export function isTerminalState(state: string): boolean {
  return TERMINAL.includes(state);
}

/** `type` in the subject of a human task that asks for a credential instead of input. */
export const CREDENTIAL_REQUEST = 'credential_request';

/** Whether the task waits for its client. */
export function isInterruptedState(state: string): boolean {
  return INTERRUPTED.includes(state);
}

/** Exactly one of `text`, `raw` (base64), `url`, `data`. */
export interface A2APart {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  filename?: string;
  mediaType?: string;
  metadata?: Record<string, unknown>;
}

export interface A2AMessage {
  messageId: string;
  contextId?: string;
  taskId?: string;
  role: 'ROLE_USER' | 'ROLE_AGENT';
  parts: A2APart[];
  metadata?: Record<string, unknown>;
  extensions?: string[];
  referenceTaskIds?: string[];
}

export interface A2ATaskStatus {
  state: A2ATaskState;
  message?: A2AMessage;
  /** RFC 3339 in UTC. */
  timestamp: string;
}

export interface A2AArtifact {
  artifactId: string;
  name?: string;
  description?: string;
  parts: A2APart[];
  metadata?: Record<string, unknown>;
}

export interface A2ATask {
  id: string;
  contextId: string;
  status: A2ATaskStatus;
  artifacts?: A2AArtifact[];
  history?: A2AMessage[];
  metadata?: Record<string, unknown>;
}

export type A2AUpdate =
  | { task: A2ATask }
  | { message: A2AMessage }
  | {
      statusUpdate: {
        taskId: string;
        contextId: string;
        status: A2ATaskStatus;
        metadata?: Record<string, unknown>;
      };
    }
  | {
      artifactUpdate: {
        taskId: string;
        contextId: string;
        artifact: A2AArtifact;
        append?: boolean;
        lastChunk?: boolean;
      };
    };

/**
 * An update with its position in the stream: `seq` of the run's event. If an event has several updates, all
 * but the last have `seq.n`.
 */
export interface A2AStreamItem {
  id: string;
  update: A2AUpdate;
}

export interface A2APushConfig {
  id: string;
  taskId: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
}
