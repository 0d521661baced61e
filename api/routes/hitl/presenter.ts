/** Converts human tasks to JSON (docs/interface.md#human-tasks). Nothing else does. */
import * as z from 'zod';

import {
  CONTEXT_STATUSES,
  DELEGATES,
  TASK_STATUSES,
  type Candidates,
  type ContextEntry,
  type DecisionOption,
  type Quorum,
} from '../../../contracts/hitl.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { AUDIT_ACTIONS, AUDIT_VIA, type AuditRow } from '../../../domain/hitl/audit.ts';
import type { Decision, HumanTaskView } from '../../../domain/hitl/human-task.ts';
import { TASK_ACTIONS, taskRights } from '../../../domain/hitl/rights.ts';
import { personName } from '../../person-names.ts';
import { listedRecord, presentListed } from '../../listed.ts';
import { jsonObject, problemSchema, timestamp, userReference, uuid } from '../../schemas.ts';

const decisionRecord = z
  .object({
    id: uuid,
    decision: z.string(),
    payload: z.unknown(),
    comment: z.string().nullable(),
    decided_by: uuid,
    decided_by_name: personName,
    decided_at: timestamp,
    delivered: z
      .boolean()
      .nullable()
      .meta({
        description:
          'Whether the run has received the decision. If not yet, delivery is retried automatically. ' +
          'Null for a vote on a task that is still open.',
      }),
  })
  .meta({ id: 'HumanDecision' });

export const commentRecord = z
  .object({
    id: uuid,
    comment: z.string(),
    created_by: uuid,
    created_by_name: personName,
    created_at: timestamp,
  })
  .meta({ id: 'HumanTaskComment' });

const names = z.array(z.string());
const candidates = z.object({
  users: names,
  roles: names,
  groups: names,
  teams: names.optional(),
}) satisfies z.ZodType<Candidates>;
const decisionOption = z.object({
  id: z.string(),
  label: z.string(),
  requires_comment: z.boolean(),
}) satisfies z.ZodType<DecisionOption>;
const quorum = z.object({
  approvals: z.int(),
  rejections: z.int(),
  exclude_initiator: z.boolean(),
  exclude: z.object({ users: names, groups: names }).optional(),
}) satisfies z.ZodType<Quorum>;

const contextEntry = z
  .object({
    name: z.string(),
    task: z
      .string()
      .nullable()
      .meta({ description: 'JSON pointer of the step in the definition; null for a value.' }),
    status: z
      .enum(CONTEXT_STATUSES)
      .nullable()
      .meta({
        description:
          'Status of the step when the human task was created; `skipped`: its `if` was false, `pending`: ' +
          'the run had not come to it. Null for a value.',
      }),
    value: z.unknown().meta({ description: 'The output of the step, or the value.' }),
    value_omitted: z
      .boolean()
      .meta({ description: 'Whether the value was too large to keep: over 8 KiB, or 64 KiB together.' }),
  })
  .meta({ id: 'HumanTaskContextEntry' }) satisfies z.ZodType<ContextEntry>;

export const humanTaskRecord = z
  .object({
    id: uuid,
    run_id: uuid,
    workflow_id: uuid.nullable(),
    workflow_name: z.string(),
    team_id: uuid.nullable().meta({ description: "The team of the run's workflow." }),
    task: z.string().meta({ description: 'JSON pointer of the task in the definition.' }),
    title: z.string(),
    description: z.string().nullable(),
    subject: z.unknown().meta({ description: 'The data to decide on.' }),
    context: z
      .array(contextEntry)
      .nullable()
      .meta({
        description:
          'What led here: the steps and values that the definition shows to the people who are asked, as ' +
          'they were when the task was created. Lists omit it.',
      }),
    form_schema: jsonObject
      .nullable()
      .meta({ description: 'JSON Schema 2020-12 of the payload of every decision but `reject`.' }),
    decisions: z.array(decisionOption),
    status: z.enum(TASK_STATUSES),
    priority: z.int().min(0).max(100),
    assignee: z
      .string()
      .nullable()
      .meta({ description: 'Id or username, as the definition gives it; the id after a delegation.' }),
    assignee_name: personName,
    candidates: candidates,
    claimed_by: uuid.nullable(),
    claimed_by_name: personName,
    claimed_at: timestamp.nullable(),
    due_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    escalation_level: z.int(),
    quorum: quorum.nullable(),
    delegate: z.enum(DELEGATES).meta({ description: 'To whom candidates may delegate.' }),
    delegations: z.array(z.object({ from: z.string(), to: uuid })).meta({
      description:
        'Users who delegated their vote (id, or a name without a user), and who decides in their place.',
    }),
    tally: z
      .record(z.string(), z.int())
      .nullable()
      .meta({ description: 'With a quorum: votes for each decision.' }),
    my_vote: z
      .object({ decision: z.string(), comment: z.string().nullable(), voted_at: timestamp })
      .nullable()
      .meta({ description: "With a quorum: the caller's vote." }),
    can: z
      .array(z.enum(TASK_ACTIONS))
      .meta({ description: 'What the caller can currently do with the task.' }),
    cannot: z.partialRecord(z.enum(TASK_ACTIONS), z.string()).meta({
      description:
        'Why the caller cannot do the rest: for each action the `code` of the error that it would return, ' +
        'such as `initiator_excluded`, `delegated`, `not_a_candidate`, `role_required`, ' +
        '`claimed_by_another`, `already_voted`, `already_decided`, `task_expired`, `task_cancelled`, ' +
        '`run_finished`. `already_claimed` means by the caller; `no_other_candidate` means that there is ' +
        'nobody to delegate to.',
    }),
    comments: z.array(commentRecord).meta({ description: 'The latest 100, oldest first.' }),
    decision: decisionRecord.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'HumanTask' });

export const auditRecord = z
  .object({
    id: uuid,
    at: timestamp,
    action: z.enum(AUDIT_ACTIONS),
    via: z
      .enum(AUDIT_VIA)
      .meta({ description: 'How it was done; `workflow`: by the run itself, by a timer or at its end.' }),
    actor: userReference
      .nullable()
      .meta({ description: 'Who did it, by the name at that time; null for the run itself.' }),
    as_admin: z.boolean().meta({ description: 'Only the role of an admin allowed it.' }),
    data: jsonObject.meta({
      description:
        'What belongs to the action, such as `to` and `from` (users) of a delegation. While the task is ' +
        "undecided, candidates do not see the decision in other people's votes.",
    }),
  })
  .meta({ id: 'HumanTaskAuditEntry' });

export function presentAudit(row: AuditRow): z.input<typeof auditRecord> {
  const { id, at, action, via, actor_id, actor_name, as_admin, data } = row;
  return {
    id,
    at: new Date(at).toISOString(),
    action,
    via,
    actor: actor_id === null ? null : { id: actor_id, username: actor_name ?? '' },
    as_admin,
    data,
  };
}

export const decidedRecord = z
  .object({ task: humanTaskRecord, decision: decisionRecord })
  .meta({ id: 'HumanTaskDecided' });

export const batchRecord = z
  .object({
    results: z.array(
      z.object({
        task_id: uuid,
        status: z
          .int()
          .meta({ description: 'The status that a single request for this task would have returned.' }),
        task: humanTaskRecord.optional(),
        decision: decisionRecord.optional(),
        problem: problemSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'HumanTaskBatch' });

export function presentTask(actor: Actor, view: HumanTaskView): z.input<typeof humanTaskRecord> {
  const delegations = Object.entries(view.delegations).map(([principal, to]) => ({
    from: principal.slice(principal.indexOf(':') + 1),
    to,
  }));
  const { can, cannot } = taskRights(actor, view);
  return {
    id: view.id,
    run_id: view.run_id,
    workflow_id: view.workflow_id,
    workflow_name: view.workflow_name,
    team_id: view.team_id,
    task: view.task,
    title: view.title,
    status: view.status,
    priority: view.priority,
    assignee: view.assignee,
    claimed_by: view.claimed_by,
    claimed_at: view.claimed_at,
    due_at: view.due_at,
    expires_at: view.expires_at,
    escalation_level: view.escalation_level,
    quorum: view.quorum,
    delegate: view.delegate,
    delegations,
    created_at: view.created_at,
    updated_at: view.updated_at,
    description: view.description,
    subject: view.subject,
    form_schema: view.form_schema,
    decisions: view.decisions,
    candidates: view.candidates,
    context: view.context,
    tally: view.tally,
    my_vote: view.my_vote,
    comments: view.comments,
    decision: view.decision,
    can,
    cannot,
  };
}

/** A task in a list. */
export const listedTask = listedRecord(
  humanTaskRecord,
  {
    description: true,
    subject: true,
    context: true,
    form_schema: true,
    decisions: true,
    candidates: true,
    tally: true,
    comments: true,
    decision: true,
  },
  { id: 'ListedHumanTask', variantOf: 'HumanTask' },
);

export function presentListedTask(actor: Actor, view: HumanTaskView): Record<string, unknown> {
  return presentListed<typeof humanTaskRecord>(presentTask(actor, view), view.omitted ?? []);
}

type Decided = z.input<typeof decidedRecord>;

/** @param delivered whether the signal was delivered after the commit */
export function presentDecided(
  actor: Actor,
  task: HumanTaskView,
  decision: Decision,
  delivered = decision.delivered,
): Decided {
  return withDelivery({ task: presentTask(actor, task), decision }, delivered);
}

/** The same decision, now that it is known whether the run has received it. */
export function withDelivery({ task, decision }: Decided, delivered: boolean | null): Decided {
  const shown = { ...task, decision: task.decision && { ...task.decision, delivered } };
  return { task: shown, decision: { ...decision, delivered } };
}
