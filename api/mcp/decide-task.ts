/** The tool that decides a human task: in one statement if nothing is in the way, as the REST API does. */
import type { CallToolResult } from '@modelcontextprotocol/server';

import type { EntityManager } from '../../db/orm.ts';
import { auditEntry, writeAudit, type AuditNote } from '../../domain/audit/write.ts';
import { withAbsentPeople } from '../../domain/auth/absences.ts';
import { forbidden } from '../../domain/errors.ts';
import { decideAtOnce, type DecidedAtOnce } from '../../domain/hitl/decide-at-once.ts';
import type { HumanTask } from '../../domain/hitl/human-task.ts';
import { decide, loadForChange } from '../../domain/hitl/service.ts';
import type { Submission } from '../../domain/hitl/submission.ts';
import { sendSignal } from '../../domain/runs/dispatch.ts';
import { servesCaller } from '../../domain/runs/protocol-calls.ts';
import { presentDecided } from '../routes/hitl/presenter.ts';
import { inTransaction, unlessRolledBack } from '../transaction.ts';
import type { McpCall } from './call.ts';
import { recordResult } from './results.ts';

interface Arguments extends Submission {
  task_id: string;
}

/** @throws 403 if the caller could approve what itself has begun */
export async function decideTask(
  call: McpCall,
  { task_id: taskId, ...submission }: Arguments,
): Promise<CallToolResult> {
  const { task, decision, signal, actor } =
    (await atOnce(call, taskId, submission)) ?? (await locked(call, taskId, submission));
  const delivered = signal === null ? null : await sendSignal(call.deps, signal);
  return recordResult({ ...presentDecided(actor, task, decision, delivered) });
}

function atOnce(call: McpCall, taskId: string, submission: Submission): Promise<DecidedAtOnce | null> {
  const { deps, actor, origin } = call;
  const em = deps.orm.em.fork();
  const request = {
    taskId,
    submission: () => ({ value: submission }),
    entry: () => JSON.stringify(auditEntry(origin, noteOf(taskId, submission))),
    check: (task: HumanTask) => checkBegun(em, call, task),
  };
  return unlessRolledBack(() => decideAtOnce(em, { actor, via: 'mcp' }, request));
}

async function locked(call: McpCall, taskId: string, submission: Submission): Promise<DecidedAtOnce> {
  const { deps, origin } = call;
  const actor = await withAbsentPeople(deps.orm.em.fork(), call.actor);
  const decided = await inTransaction(
    () => deps.orm.em.fork(),
    async (em) => {
      const seen = await loadForChange(em, actor, taskId);
      await checkBegun(em, call, seen);
      await writeAudit(em, origin, noteOf(taskId, submission));
      return decide(em, { actor, via: 'mcp' }, seen, { value: submission });
    },
  );
  return { ...decided, actor };
}

async function checkBegun(
  em: EntityManager,
  { callingRunId }: McpCall,
  { run_id: runId }: HumanTask,
): Promise<void> {
  if (await servesCaller(em, runId, callingRunId))
    throw forbidden(
      'A program of a language model has begun this run, so a person decides this task elsewhere.',
      'own_run',
    );
}

function noteOf(objectId: string, { decision }: Submission): AuditNote {
  const data = { changes: { decision: { new: decision } } };
  return { action: 'decideHumanTask', objectType: 'human_task', objectId, data };
}
