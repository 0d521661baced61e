/** Evaluations of agents: docs/evaluations.md. */
import * as z from 'zod';

import type { Agent } from '../../../db/entities/agent.ts';
import { forbidden, invalid } from '../../../domain/errors.ts';
import {
  deleteEvaluation,
  getEvaluation,
  listCases,
  listEvaluations,
  startEvaluation,
  type CaseRow,
} from '../../../domain/evaluations/evaluation.ts';
import { mayChangeAgent } from '../../../domain/registry/agent-policy.ts';
import { getAgent } from '../../../domain/registry/agent-service.ts';
import { startRun } from '../../../domain/runs/dispatch.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { byId, orderBy, readPage } from '../../paging.ts';
import { idParams, pageQuery } from '../../schemas.ts';
import { readDataSet } from './data-set.ts';
import {
  caseRecord,
  evaluationRecord,
  mark,
  newEvaluation,
  presentCase,
  presentEvaluation,
} from './schemas.ts';

const tags = ['evaluations'];
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const byNumber = orderBy<CaseRow, number>(z.int(), ({ number }) => number);

export function evaluationEndpoints(deps: AppDeps): Endpoint[] {
  return [startEndpoint(deps), ...readEndpoints(), deleteEndpoint()];
}

/** Drafts are part of an evaluation, so those who may only read the agent cannot start or see one. */
async function ownAgent(c: EndpointContext<{ id: string }>): Promise<Agent> {
  const agent = await getAgent(c.em, c.actor, c.params.id);
  if (!mayChangeAgent(c.actor, agent)) throw forbidden('Only the owner and admins may evaluate this agent.');
  return agent;
}

function startEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/agents/{id}/evaluate',
    operationId: 'evaluateAgent',
    summary: "Try an agent's versions on a data set, side by side",
    description:
      'Starts a run that calls each version with the input of each case; its calls are ordinary ' +
      'invocations. The report follows some seconds after the end of the run.',
    tags,
    role: 'builder',
    inTeams: true,
    params: idParams,
    body: newEvaluation,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    responses: { 201: evaluationRecord },
    errors: [403, 404, 410, 422],
    prepare: async (c) => {
      await ownAgent(c);
      const { file_id: fileId } = c.body;
      return fileId === undefined ? undefined : readDataSet(c.em, deps.files, c.actor, fileId);
    },
    handler: async (c) => {
      const agent = await ownAgent(c);
      const { file_id: fileId, cases: given, checks = [], ...more } = c.body;
      if ((fileId === undefined) === (given === undefined)) {
        const message = 'Give either cases or file_id.';
        throw invalid([{ pointer: '/cases', code: 'required', message }], message);
      }
      const cases =
        given ??
        c.prepared ??
        (fileId === undefined ? [] : await readDataSet(c.em, deps.files, c.actor, fileId));
      const started = await startEvaluation(
        c.em,
        c.actor,
        agent,
        { ...more, cases, checks },
        runLimits(deps.env),
      );
      const { run_id: runId } = started;
      if (runId !== null) c.afterCommit(async () => void (await startRun(deps, runId)));
      return {
        status: 201,
        body: presentEvaluation(started),
        headers: { Location: `${c.baseUrl}/evaluations/${started.id}` },
      };
    },
  });
}

function readEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/agents/{id}/evaluations',
      operationId: 'listEvaluations',
      summary: "List an agent's evaluations, newest first",
      tags,
      role: 'builder',
      inTeams: true,
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(evaluationRecord) },
      handler: async (c) => {
        const agent = await ownAgent(c);
        const { items, headers } = await readPage(c, byId, (page) => listEvaluations(c.em, agent.id, page));
        return { status: 200, body: items.map(presentEvaluation), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/evaluations/{id}',
      operationId: 'getEvaluation',
      summary: 'Get an evaluation with its report',
      tags,
      role: 'builder',
      inTeams: true,
      params: idParams,
      responses: { 200: evaluationRecord },
      handler: async (c) => ({
        status: 200,
        body: presentEvaluation(await getEvaluation(c.em, c.actor, c.params.id)),
      }),
    }),
    endpoint({
      method: 'GET',
      path: '/evaluations/{id}/cases',
      operationId: 'listEvaluationCases',
      summary: 'List the cases of an evaluation with what each version has given',
      tags,
      role: 'builder',
      inTeams: true,
      params: idParams,
      query: z.object({
        ...pageQuery,
        only: mark.optional().meta({
          description:
            'Cases that any version failed, or that ended in an error; whose outputs differ; that the ' +
            'first version passes and another does not (`regressed`), or the other way round (`improved`).',
        }),
      }),
      responses: { 200: z.array(caseRecord) },
      handler: async (c) => {
        const { id, versions } = await getEvaluation(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byNumber, (page, filter) =>
          listCases(c.em, id, filter, page),
        );
        return { status: 200, body: items.map((row) => presentCase(versions, row)), headers };
      },
    }),
  ];
}

function deleteEndpoint(): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: '/evaluations/{id}',
    operationId: 'deleteEvaluation',
    summary: 'Delete an evaluation that has ended, with its report',
    tags,
    role: 'builder',
    inTeams: true,
    params: idParams,
    responses: { 204: null },
    errors: [409],
    handler: async (c) => {
      await deleteEvaluation(c.em, c.actor, c.params.id);
      return { status: 204 };
    },
  });
}
