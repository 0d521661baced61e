/** The only way from a human task to JSON: the record of interface-decisions §6. */
import * as z from 'zod';

import type { Decision, HumanTaskView } from '../../../domain/hitl/human-task.ts';
import { jsonObject, problemSchema, timestamp, uuid } from '../../schemas.ts';

export const decisionRecord = z
  .object({
    id: uuid,
    decision: z.string(),
    payload: z.unknown(),
    comment: z.string().nullable(),
    decided_by: uuid,
    decided_at: timestamp,
    delivered: z.boolean().nullable().meta({ description: 'Whether the run has been told; if not yet, that goes on by itself. Null: a vote, the task is still open.' }),
  })
  .meta({ id: 'HumanDecision' });

export const commentRecord = z.object({ id: uuid, comment: z.string(), created_by: uuid, created_at: timestamp }).meta({ id: 'HumanTaskComment' });

const names = z.array(z.string());

export const humanTaskRecord = z
  .object({
    id: uuid,
    run_id: uuid,
    workflow_id: uuid.nullable(),
    workflow_name: z.string(),
    task: z.string().meta({ description: 'JSON pointer of the task in the definition.' }),
    title: z.string(),
    description: z.string().nullable(),
    subject: z.unknown().meta({ description: 'What is decided on.' }),
    form_schema: jsonObject.nullable().meta({ description: 'JSON Schema 2020-12 of the payload of every decision but `reject`.' }),
    decisions: z.array(z.object({ id: z.string(), label: z.string(), requires_comment: z.boolean() })),
    status: z.enum(['open', 'claimed', 'decided', 'expired', 'cancelled']),
    priority: z.int().min(0).max(100),
    assignee: z.string().nullable().meta({ description: 'Id or username, as it was given.' }),
    candidates: z.object({ users: names, roles: names, groups: names }),
    claimed_by: uuid.nullable(),
    claimed_at: timestamp.nullable(),
    due_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    escalation_level: z.int(),
    quorum: z.object({ approvals: z.int(), rejections: z.int(), exclude_initiator: z.boolean() }).nullable(),
    tally: z.record(z.string(), z.int()).nullable().meta({ description: 'With a quorum: votes for each decision.' }),
    comments: z.array(commentRecord).meta({ description: 'The latest 100, oldest first.' }),
    decision: decisionRecord.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'HumanTask' });

export const decidedRecord = z.object({ task: humanTaskRecord, decision: decisionRecord }).meta({ id: 'HumanTaskDecided' });

export const batchRecord = z
  .object({
    results: z.array(
      z.object({
        task_id: uuid,
        status: z.int().meta({ description: 'As the answer for this task alone would have had it.' }),
        task: humanTaskRecord.optional(),
        decision: decisionRecord.optional(),
        problem: problemSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'HumanTaskBatch' });

export function presentTask(view: HumanTaskView): z.input<typeof humanTaskRecord> {
  const { owner_id: _owner, initiator_id: _initiator, task_name: _name, assignee_key: _key, principals: _principals, row_version: _version, ...record } = view;
  return record;
}

/** `delivered`: as it turned out after the commit. */
export function presentDecided(task: HumanTaskView, decision: Decision, delivered = decision.delivered): z.input<typeof decidedRecord> {
  return { task: presentTask({ ...task, decision: task.decision && { ...task.decision, delivered } }), decision: { ...decision, delivered } };
}
