/** Shapes of human tasks: requests of runs to people, and their answers. */
import { RUN_TASK_STATUSES } from './run-events.ts';

export const TASK_STATUSES = ['open', 'claimed', 'decided', 'expired', 'cancelled'] as const;

export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Statuses in which a task can still be decided. */
export const UNDECIDED = ['open', 'claimed'] as const satisfies TaskStatus[];

/** A decision that a task offers. */
export interface DecisionOption {
  id: string;
  label: string;
  requires_comment: boolean;
}

/** Who may decide a task: users (by id or username), roles, groups, approvers of teams (by id or name). */
export interface Candidates {
  users: string[];
  roles: string[];
  groups: string[];
  /** Absent in what was written before there were teams. */
  teams?: string[] | undefined;
}

/** Number of different people that a decision needs: `rejections` for `reject`, `approvals` for any other. */
export interface Quorum {
  approvals: number;
  rejections: number;
  exclude_initiator: boolean;
  /** Who may not decide although they are candidates. */
  exclude?: { users: string[]; groups: string[] } | undefined;
}

/** To whom a vote may be delegated. */
export const DELEGATES = ['candidates', 'anyone'] as const;

export type Delegate = (typeof DELEGATES)[number];

/** Characters of a title; lists show no more of those from before this limit. */
export const MAX_TITLE = 1_000;
/** Names of people, roles, groups and teams in a question, and the characters of one. */
export const MAX_NAMES = 1_000;
export const MAX_NAME = 255;

/** Limits of `context`: its steps and values, and the length of a value's name. */
export const MAX_CONTEXT_ENTRIES = 50;
export const MAX_CONTEXT_LABEL = 255;

/** `skipped`: its `if` was false. `pending`: the run has not come to it. */
export const CONTEXT_STATUSES = [...RUN_TASK_STATUSES, 'skipped', 'pending'] as const;

/** What led to a human task: a step of the run, or a value that its author chose. */
export interface ContextEntry {
  name: string;
  /** JSON pointer of the step; null for a value. */
  task: string | null;
  /** Of the step, when the human task was created. */
  status: (typeof CONTEXT_STATUSES)[number] | null;
  /** The step's output. */
  value: unknown;
  /** The value was too large to keep. */
  value_omitted: boolean;
}

/** A human task as the workflow creates it. The database stores it, and the API shows it. */
export interface HumanTaskRequest {
  id: string;
  run_id: string;
  /** JSON pointer in the definition. */
  task: string;
  task_name: string;
  title: string;
  description: string | null;
  subject: unknown;
  form_schema: Record<string, unknown> | null;
  decisions: DecisionOption[];
  assignee: string | null;
  candidates: Candidates;
  priority: number;
  due_at: string | null;
  expires_at: string | null;
  quorum: Quorum | null;
  /** Whether a link may decide it without a log-in. Absent: no. */
  decision_links?: boolean;
}

/** One person's answer: a vote, or the decision. */
export interface HumanAnswer {
  /** The id of a `DecisionOption`. */
  decision: string;
  payload: unknown;
  comment: string | null;
  /** Null if the task expired without a decision by a person. */
  decided_by: string | null;
  /** RFC 3339. */
  decided_at: string;
}

/** An accepted decision as the run receives it, by signal or when the task expires. */
export interface DecisionPayload extends HumanAnswer {
  task_id: string;
  decision_id: string;
  /** All votes, oldest first, if the task has a quorum. */
  votes?: HumanAnswer[];
}
