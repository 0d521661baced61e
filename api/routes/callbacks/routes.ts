/** Callbacks of agents whose jobs take long: docs/agents.md#long-jobs. */
import * as z from 'zod';

import { isRecord } from '../../../contracts/is-record.ts';
import { readCallbackToken } from '../../../domain/jobs/callback-token.ts';
import {
  answerCallback,
  checkOpen,
  getCallback,
  readCallback,
  type Told,
} from '../../../domain/jobs/callbacks.ts';
import { JOB_STATUSES, statusOf, type JobRow } from '../../../domain/jobs/job.ts';
import { checkOutput } from '../../../domain/jobs/work.ts';
import type { SecretGuard } from '../../../domain/ports.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { errorOf, guardOf } from '../jobs/answers.ts';

const TAGS = ['callbacks'];
const params = z.object({ token: z.string().max(4_000) });
const MAX_DETAIL = 2_000;

const callbackBody = z
  .looseObject({
    output: z.unknown().optional(),
    error: z
      .unknown()
      .optional()
      .meta({ description: 'A text, or `{type?, title?, detail?, status?}`; the task faults with it.' }),
  })
  .meta({ id: 'Callback' });

const callbackAnswer = z.object({ status: z.enum(JOB_STATUSES) }).meta({ id: 'CallbackAnswer' });

export function callbackEndpoints(deps: AppDeps): Endpoint[] {
  const links = { keys: deps.keys, baseUrl: deps.env.BASE_URL };
  const jobOf = async (c: EndpointContext<{ token: string }>): Promise<JobRow> =>
    getCallback(c.em, await readCallbackToken(links, c.params.token));
  const proof = ({ token = '' }: Readonly<Record<string, string>>): Promise<string | null> =>
    readCallbackToken(links, token).catch(() => null);
  return [
    endpoint({
      method: 'GET',
      path: '/callbacks/{token}',
      operationId: 'getCallback',
      summary: 'See whether a callback is still waited for; changes nothing',
      tags: TAGS,
      role: 'public',
      proof,
      params,
      responses: { 200: callbackAnswer },
      errors: [404, 410],
      handler: async (c) => ({
        status: 200,
        body: { status: statusOf(await jobOf(c)) },
        headers: { 'Cache-Control': 'no-store' },
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/callbacks/{token}',
      operationId: 'receiveCallback',
      // What ends the call writes it itself; the rest is news of a call that goes on, in an agent's words.
      audit: false,
      summary: 'Complete a call from outside, once',
      description:
        'The address itself is the proof; it was given to the agent with the call. The same body again ' +
        'gets the same answer; anything else, and everything after the call has ended, is 410. An output ' +
        "that does not fit the agent's output schema is 422, and the call goes on waiting.",
      tags: TAGS,
      role: 'public',
      proof,
      params,
      body: callbackBody,
      transaction: false,
      idempotent: false,
      responses: { 200: callbackAnswer, 202: callbackAnswer },
      errors: [404, 410],
      handler: async (c) => {
        const job = await jobOf(c);
        const { body } = c;
        const repeated = { status: 200, body: { status: job.outcome ?? 'completed' } };
        if (checkOpen(job, body) === 'repeated') return repeated;
        const guard = await guardOf(deps, c.em, job);
        // Redacted before the rules, which could cut a secret into pieces.
        const told = c.measure(() => readCallback(job, cleanObject(guard, body)));
        if ('state' in told) return { status: 202, body: { status: 'waiting' } };
        const ended = await endedOf(guard, job, told);
        const signals = await c.em.transactional(async (em) => {
          await c.audit.write(em, { objectType: 'job', objectId: job.id });
          return answerCallback(em, job, body, ended);
        });
        c.afterCommit(() => deliverSignals(deps, signals).then(() => {}));
        return { status: 200, body: { status: 'error' in ended ? 'failed' : 'completed' } };
      },
    }),
  ];
}

function cleanObject(guard: SecretGuard, body: Record<string, unknown>): Record<string, unknown> {
  const clean = guard.clean(body);
  return isRecord(clean) ? clean : {};
}

async function endedOf(
  guard: SecretGuard,
  job: JobRow,
  told: Exclude<Told, { state: unknown }>,
): Promise<Parameters<typeof answerCallback>[3]> {
  const redact = (text: string): string => guard.redact(text).slice(0, MAX_DETAIL);
  if ('error' in told) return { error: errorOf(reportedError(told.error), redact) };
  const output = guard.clean(told.output);
  await checkOutput(job, output);
  return { output };
}

function reportedError(error: unknown): Parameters<typeof errorOf>[0] {
  if (!isRecord(error)) return { detail: typeof error === 'string' ? error : JSON.stringify(error) };
  const text = (key: string): string | undefined => {
    const value = error[key];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const { status } = error;
  return {
    type: text('type'),
    title: text('title'),
    detail: text('detail') ?? text('message'),
    status: typeof status === 'number' && status >= 100 && status <= 599 ? Math.round(status) : undefined,
  };
}
