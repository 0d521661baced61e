/** Decision links: docs/notifications.md#decision-links. */
import * as z from 'zod';

import type { AuditNote } from '../../../domain/audit/write.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { AppError } from '../../../domain/errors.ts';
import { decideAtOnce } from '../../../domain/hitl/decide-at-once.ts';
import { decide, type Decided } from '../../../domain/hitl/decide.ts';
import {
  openDecisionLink,
  useDecisionLink,
  type DecisionLink,
  type DecisionLinkDeps,
} from '../../../domain/hitl/decision-links.ts';
import type { HumanTask } from '../../../domain/hitl/human-task.ts';
import { loadForChange } from '../../../domain/hitl/locked-task.ts';
import type { Submission } from '../../../domain/hitl/submission.ts';
import { sendSignals } from '../../../domain/runs/dispatch.ts';
import type { AppDeps } from '../../deps.ts';
import {
  endpoint,
  media,
  type Endpoint,
  type EndpointContext,
  type EndpointResponse,
} from '../../endpoint.ts';
import { pageHeaders } from '../../page.ts';
import { inTransaction, unlessRefused, unlessRolledBack } from '../../transaction.ts';
import { payloadOf, renderDone, renderRefused, renderTask, simpleFields } from './link-page.ts';

const TAGS = ['hitl'];
const params = z.object({ token: z.string().max(4_000) });
const html = media({ 'text/html': z.string() });
const FORM = 'application/x-www-form-urlencoded';

export function decisionLinkEndpoints(deps: AppDeps): Endpoint[] {
  const links: DecisionLinkDeps = {
    keys: deps.keys,
    baseUrl: deps.env.BASE_URL,
    allowed: deps.env.DECISION_LINKS,
    hours: deps.env.DECISION_LINK_HOURS,
  };
  return [
    endpoint({
      method: 'GET',
      path: '/decide/{token}',
      operationId: 'showDecisionLink',
      summary: 'Show the task of a decision link: a page that changes nothing',
      description: 'For one person, without a log-in, if the definition and DECISION_LINKS allow it.',
      tags: TAGS,
      role: 'public',
      params,
      responses: { 200: html, 404: html, 410: html },
      errors: [404, 410],
      handler: async (c) => {
        try {
          const { task, actor } = await openDecisionLink(c.em, links, c.params.token);
          await loadForChange(c.em, actor, task.id);
          return answer(200, renderTask(shownOf(links, { task, actor })));
        } catch (error) {
          return refused(error, links);
        }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/decide/{token}',
      operationId: 'decideByLink',
      summary: 'Decide the task of a decision link, once: the form of its page',
      tags: TAGS,
      role: 'public',
      params,
      bodies: { [FORM]: z.record(z.string(), z.string().max(100_000)).meta({ id: 'DecisionForm' }) },
      bodyLimitBytes: 256 * 1024,
      responses: { 200: html, 404: html, 410: html, 422: html },
      errors: [404, 410, 422],
      idempotent: false,
      transaction: false,
      handler: (c) => decideByLink(deps, links, c),
    }),
  ];
}

type LinkContext = EndpointContext<{ token: string }, unknown, Record<string, string>>;

async function decideByLink(
  deps: AppDeps,
  links: DecisionLinkDeps,
  c: LinkContext,
): Promise<EndpointResponse> {
  const sent = c.body;
  try {
    const link = await openDecisionLink(c.em, links, c.params.token);
    const { task } = link;
    const submission = submissionOf(task, sent);
    if (submission === null) return answer(422, renderTask({ ...shownOf(links, link), sent }));
    const { decision } = submission;
    try {
      const { signal } =
        (await decideLinkAtOnce(c, link, submission)) ?? (await decideLocked(deps, links, c, submission));
      if (signal !== null) c.afterCommit(async () => void (await sendSignals(deps, [signal])));
      return answer(200, renderDone(task.decisions.find(({ id }) => id === decision)?.label ?? decision));
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'invalid') throw error;
      const problems = error.errors ?? [];
      return answer(422, renderTask({ ...shownOf(links, link), sent, problems }));
    }
  } catch (error) {
    return refused(error, links);
  }
}

/** Null if the page cannot show the task's form. */
function submissionOf(task: HumanTask, sent: Record<string, string>): Submission | null {
  const { decision = '', comment = null } = sent;
  const fields = simpleFields(task.form_schema);
  if (fields === null && decision !== 'reject') return null;
  const payload = decision === 'reject' ? undefined : payloadOf(fields ?? [], sent);
  return { decision, comment, ...(task.form_schema === null ? {} : { payload }) };
}

/** One statement decides and uses the link up; null: nothing has changed. */
function decideLinkAtOnce(
  c: LinkContext,
  { id, task, actor }: DecisionLink,
  submission: Submission,
): Promise<Decided | null> {
  const request = {
    taskId: task.id,
    submission: () => ({ value: submission }),
    entry: () => c.audit.row(auditedOf(actor, task.id, submission.decision)),
    link: id,
  };
  return unlessRolledBack(() => unlessRefused(() => decideAtOnce(c.em, { actor, via: 'link' }, request)));
}

function decideLocked(
  deps: AppDeps,
  links: DecisionLinkDeps,
  c: LinkContext,
  submission: Submission,
): Promise<Decided> {
  return inTransaction(
    () => deps.orm.em.fork(),
    async (em) => {
      const link = await openDecisionLink(em, links, c.params.token);
      const { actor } = link;
      const seen = await loadForChange(em, actor, link.task.id);
      const decided = await decide(em, { actor, via: 'link' }, seen, { value: submission });
      await useDecisionLink(em, link);
      await c.audit.write(em, auditedOf(actor, seen.id, submission.decision));
      return decided;
    },
  );
}

/** The link stands for its person. */
function auditedOf({ id, username: name }: Actor, taskId: string, decision: string): Partial<AuditNote> {
  const changes = { decision: { new: decision } };
  return { actor: { id, name }, objectType: 'human_task', objectId: taskId, data: { changes } };
}

/** Whatever the reason: people see a page that says no more than that the link is over. */
function refused(error: unknown, { baseUrl }: DecisionLinkDeps): EndpointResponse {
  if (!(error instanceof AppError)) throw error;
  const detail = error.kind === 'not_found' ? 'There is no such link.' : error.detail;
  return answer(error.kind === 'not_found' ? 404 : 410, renderRefused(detail, `${baseUrl}/console/`));
}

function answer(status: number, body: string): EndpointResponse {
  return { status, type: 'text/html', body, headers: pageHeaders() };
}

function shownOf({ baseUrl }: DecisionLinkDeps, { task, actor }: Pick<DecisionLink, 'task' | 'actor'>) {
  return { task, username: actor.username, consoleUrl: `${baseUrl}/console/inbox?task=${task.id}` };
}
