/** Jobs of external workers: docs/external-workers.md. */
import * as z from 'zod';

import type { Agent } from '../../../db/entities/agent.ts';
import { forbidden, notFound } from '../../../domain/errors.ts';
import { addJobFile, fileOfJob } from '../../../domain/jobs/files.ts';
import { JOB_STATUSES, type JobRow } from '../../../domain/jobs/job.ts';
import { checkHasJobs, listJobs, queueState } from '../../../domain/jobs/lists.ts';
import { checkHeld, checkOutput, completeJob, failJob, getJob, keepJob } from '../../../domain/jobs/work.ts';
import { getAgent } from '../../../domain/registry/agent-service.ts';
import { mayChangeAgent } from '../../../domain/registry/agent-policy.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { workerOf } from '../../middleware/auth.ts';
import { identifyAgain } from '../../middleware/identify-again.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, text, uuid } from '../../schemas.ts';
import { sendContent } from '../files/content.ts';
import { fileRecord, presentFile } from '../files/presenter.ts';
import { receiveUpload } from '../files/upload.ts';
import { errorOf, guardOf, pollJobs } from './answers.ts';
import {
  completeBody,
  failBody,
  heartbeatAnswer,
  heartbeatBody,
  jobAnswer,
  jobRecord,
  MAX_PROGRESS,
  pollBody,
  polledJob,
  presentJob,
  presentQueue,
  queueName,
  queueRecord,
} from './schemas.ts';
import { workerTokenEndpoints } from './token-routes.ts';

const TAGS = ['external workers'];
const COMPLETE_LIMIT_BYTES = 8 * 1024 * 1024;
const bytes = z.unknown().meta({ type: 'string', format: 'binary' });

export function jobEndpoints(deps: AppDeps): Endpoint[] {
  return [...ownerEndpoints(), ...workerEndpoints(deps), ...workerTokenEndpoints(deps)];
}

/** The job, for a caller who may serve its agent. */
function jobFor(c: EndpointContext<{ id: string }>): Promise<JobRow> {
  return getJob(c.em, workerOf(c.ctx), c.actor, c.params.id);
}

/** The job, which the caller holds. @throws 409 */
async function heldJob(c: EndpointContext<{ id: string }>): Promise<JobRow> {
  const job = await jobFor(c);
  checkHeld(job, workerOf(c.ctx), undefined);
  return job;
}

function ownerEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/agents/{id}/jobs',
      operationId: 'listJobs',
      summary: "List the jobs of an agent's external workers, newest first",
      tags: TAGS,
      role: 'builder',
      params: idParams,
      query: z.object({
        ...pageQuery,
        status: z.enum(JOB_STATUSES).optional(),
        queue: queueName.optional(),
        run_id: uuid.optional(),
      }),
      responses: { 200: z.array(jobRecord) },
      handler: async (c) => {
        await checkOwn(c);
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listJobs(c.em, c.params.id, filter, page),
        );
        return { status: 200, body: items.map(presentJob), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}/queue',
      operationId: 'getJobQueue',
      summary: 'Get how many jobs of an agent wait, and which workers were seen lately',
      tags: TAGS,
      role: 'builder',
      params: idParams,
      responses: { 200: queueRecord },
      handler: async (c) => {
        await checkOwn(c);
        return { status: 200, body: presentQueue(await queueState(c.em, c.params.id)) };
      },
    }),
  ];
}

/** @throws 404, 403 unless the caller may change the agent */
async function checkOwn(c: EndpointContext<{ id: string }>): Promise<Agent> {
  const agent = await getAgent(c.em, c.actor, c.params.id);
  if (!mayChangeAgent(c.actor, agent))
    throw forbidden('Only the owner and admins may see the jobs of this agent.');
  return agent;
}

function workerEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/agents/{id}/jobs/poll',
      operationId: 'pollJobs',
      // Many a minute; who has had a job stands in the entry of its outcome.
      audit: false,
      summary: 'Take jobs of an agent, oldest first; waits for one',
      description:
        'For a token of an external worker, or for those who may change the agent. The caller holds a job ' +
        'until `lease_expires_at`; after that the next caller gets it. 409 `no_jobs`: the agent is of ' +
        'another kind than edge.',
      tags: TAGS,
      role: 'builder',
      workerToken: 'kept',
      params: idParams,
      body: pollBody,
      transaction: false,
      idempotent: false,
      responses: { 200: z.array(polledJob) },
      errors: [409, 429],
      handler: async (c) => {
        const worker = workerOf(c.ctx);
        const { id } = c.params;
        const isEdge =
          worker.agentIds === null
            ? (await checkOwn(c)).execution_type === 'edge'
            : !worker.otherKinds.has(id.toLowerCase());
        if (worker.agentIds?.has(id) === false) throw notFound('agent');
        // Usually nothing is read for a poll that finds nothing.
        if (!isEdge) await checkHasJobs(c.em, id);
        return { status: 200, body: await pollJobs(deps, c, worker) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/jobs/{id}/heartbeat',
      operationId: 'heartbeatJob',
      // Many a minute, and it changes no more than a time.
      audit: false,
      summary: 'Keep a job: extends the lease, and tells whether to stop',
      tags: TAGS,
      role: 'builder',
      workerToken: 'read',
      params: idParams,
      body: heartbeatBody,
      idempotent: false,
      responses: { 200: heartbeatAnswer },
      errors: [409],
      handler: async (c) => {
        const job = await jobFor(c);
        const { progress, attempt } = c.body;
        const said = typeof progress === 'number' ? `${progress} %` : (progress ?? null);
        const guard = said === null ? null : await guardOf(deps, c.em, job);
        const shown = said === null || guard === null ? null : guard.redact(said).slice(0, MAX_PROGRESS);
        return { status: 200, body: await keepJob(c.em, workerOf(c.ctx), job, { progress: shown, attempt }) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/jobs/{id}/complete',
      operationId: 'completeJob',
      summary: 'Complete a job with its output, once; a repeat is harmless',
      description:
        "An output that does not fit the agent's output schema is a 422 with pointers; the job stays " +
        'leased. 409: another worker has the job, or nobody waits for it any more.',
      tags: TAGS,
      role: 'builder',
      workerToken: 'read',
      params: idParams,
      body: completeBody,
      bodyLimitBytes: COMPLETE_LIMIT_BYTES,
      transaction: false,
      idempotent: false,
      responses: { 200: jobAnswer },
      errors: [409],
      handler: async (c) => {
        const job = await jobFor(c);
        const worker = workerOf(c.ctx);
        c.checkSyntax();
        const answer = { status: 200, body: { id: job.id, status: 'completed' } };
        const read = c.readBody();
        const attempt = 'value' in read ? read.value.attempt : undefined;
        if (checkHeld(job, worker, attempt, 'completed') === 'ended') return answer;
        const output = (await guardOf(deps, c.em, job)).clean(c.body.output ?? null);
        await checkOutput(job, output);
        const { usage: used } = c.body;
        const signals = await c.em.transactional(async (em) => {
          await c.audit.write(em);
          return completeJob(em, worker, job, { output, attempt, used });
        });
        c.afterCommit(() => deliverSignals(deps, signals).then(() => {}));
        return answer;
      },
    }),
    endpoint({
      method: 'POST',
      path: '/jobs/{id}/fail',
      operationId: 'failJob',
      summary: 'Fail a job: it is handed out again, or its task faults',
      tags: TAGS,
      role: 'builder',
      workerToken: 'read',
      params: idParams,
      body: failBody,
      transaction: false,
      idempotent: false,
      responses: { 200: jobAnswer },
      errors: [409],
      handler: async (c) => {
        const job = await jobFor(c);
        c.checkSyntax();
        const guard = await guardOf(deps, c.em, job);
        const { retry, attempt, usage: used } = c.body;
        const error = errorOf(c.body, (said) => guard.redact(said));
        const { status, signals } = await c.em.transactional(async (em) => {
          await c.audit.write(em);
          return failJob(em, workerOf(c.ctx), job, { error, retry, attempt, used });
        });
        c.afterCommit(() => deliverSignals(deps, signals).then(() => {}));
        return { status: 200, body: { id: job.id, status } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/jobs/{id}/files/{file_id}',
      operationId: 'downloadJobFile',
      headers: ['If-None-Match', 'Range'],
      summary: "Download a file of a job's input, as the worker that holds the job",
      tags: TAGS,
      role: 'builder',
      workerToken: 'read',
      params: z.object({ id: uuid, file_id: uuid }),
      responses: { 200: media({ '*/*': bytes }), 206: media({ '*/*': bytes }), 304: null },
      errors: [409, 410, 416],
      handler: async (c) => {
        const job = await heldJob(c);
        return sendContent(c.ctx, deps.files, await fileOfJob(c.em, job, c.params.file_id));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/jobs/{id}/files',
      operationId: 'uploadJobFile',
      summary: "Add a file to a job's run, for its output",
      description:
        'As `POST /files`: raw, or `multipart/form-data` with one file. The file belongs to the owner of ' +
        'the run; refer to it in the output as `{file_id}`.',
      tags: TAGS,
      role: 'builder',
      workerToken: 'read',
      params: idParams,
      query: z.object({ name: text({ min: 1, max: 255 }).optional() }),
      rawBody: true,
      bodies: { '*/*': bytes },
      transaction: false,
      idempotent: false,
      responses: { 201: fileRecord },
      errors: [409],
      handler: async (c) => {
        const before = await heldJob(c);
        const { name } = c.query;
        const { upload, described } = await receiveUpload(c.ctx, deps.files);
        try {
          const job = (await identifyAgain(c.ctx)) ? await heldJob(c) : before;
          const file = { name: name ?? described.name ?? 'file', media_type: described.media_type ?? '' };
          const row = await c.em.transactional(async (em) => {
            await c.audit.write(em);
            return addJobFile(em, job, upload, file, deps.env);
          });
          return { status: 201, body: presentFile(row) };
        } catch (error) {
          await upload.discard();
          throw error;
        }
      },
    }),
  ];
}
