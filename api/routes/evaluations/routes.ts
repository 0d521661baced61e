/** Evaluations of agents: docs/evaluations.md. */
import * as z from 'zod';

import type { Agent } from '../../../db/entities/agent.ts';
import { heldBy } from '../../../domain/audit/write.ts';
import { accepted, badRequest, forbidden, invalid, keepRefusal } from '../../../domain/errors.ts';
import type { EvaluationCase } from '../../../domain/evaluations/given.ts';
import {
  deleteEvaluation,
  getEvaluation,
  listCases,
  listEvaluations,
  startEvaluation,
  type CaseRow,
  type EvaluationRow,
} from '../../../domain/evaluations/evaluation.ts';
import { checkRetryable, retryEvaluation } from '../../../domain/evaluations/retry.ts';
import { mayChangeAgent } from '../../../domain/registry/agent-policy.ts';
import { getAgent } from '../../../domain/registry/agent-service.ts';
import { startRun } from '../../../domain/runs/dispatch.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext, type EndpointResponse } from '../../endpoint.ts';
import { byId, orderBy, readPage } from '../../paging.ts';
import { idParams, pageQuery } from '../../schemas.ts';
import { requireScope } from '../../scopes.ts';
import { casesOfBody, readDataSet } from './data-set.ts';
import {
  caseRecord,
  evaluationQuery,
  evaluationRecord,
  mark,
  newEvaluation,
  presentCase,
  presentEvaluation,
  retryRequest,
} from './schemas.ts';

const TAGS = ['evaluations'];
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const DEFAULT_CONCURRENCY = 5;
const csvText = z.string().meta({
  description:
    'A row for each case, with the names of the columns in the first one: fields of the input, `id`, ' +
    '`expected` or `expected.<field>`, `weight`.',
});
const byNumber = orderBy<CaseRow, number>(z.int32(), ({ number }) => number);

export function evaluationEndpoints(deps: AppDeps): Endpoint[] {
  return [startEndpoint(deps), retryEndpoint(deps), ...readEndpoints(), deleteEndpoint()];
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
    scope: 'runs:write',
    summary: "Try an agent's versions on a data set, side by side",
    description:
      'Starts a run that calls each version with the input of each case; its calls are ordinary ' +
      'invocations. The report follows some seconds after the end of the run.',
    tags: TAGS,
    role: 'builder',
    inTeams: true,
    params: idParams,
    query: evaluationQuery,
    bodies: { 'application/json': newEvaluation, 'text/csv': csvText },
    bodyLimitBytes: BODY_LIMIT_BYTES,
    responses: { 201: evaluationRecord },
    errors: [403, 404, 410, 422],
    prepare: async (c) => {
      const agent = await ownAgent(c);
      const { file_id: fileId } = requestOf(c.body, c.query);
      if (fileId === undefined) return undefined;
      // A refusal is kept, so that the handler does not read the file again.
      return readDataSet(c.em, deps.files, c.actor, fileId, agent).then((value) => ({ value }), keepRefusal);
    },
    handler: async (c) => {
      const agent = await ownAgent(c);
      const { body } = c;
      const { file_id: fileId, cases: given, checks = [], ...more } = requestOf(body, c.query);
      if (typeof body !== 'string' && (fileId === undefined) === (given === undefined)) {
        const message = 'Give either cases or file_id.';
        throw invalid([{ pointer: '/cases', code: 'required', message }], message);
      }
      if (fileId !== undefined) requireScope(c.actor, 'files:read');
      const ofFile = async (): Promise<EvaluationCase[]> =>
        c.prepared === undefined
          ? readDataSet(c.em, deps.files, c.actor, fileId ?? '', agent)
          : accepted(c.prepared);
      const cases =
        typeof body === 'string' ? c.measure(() => casesOfBody(body, agent)) : (given ?? (await ofFile()));
      const started = await startEvaluation(
        c.em,
        c.actor,
        agent,
        { ...more, cases, checks },
        runLimits(deps.env),
      );
      return begun(deps, c, started);
    },
  });
}

/** A body of CSV has the cases only, so the rest comes from the query. A body of JSON comes first. */
function requestOf(
  body: z.output<typeof newEvaluation> | string,
  { judge, criteria, concurrency = DEFAULT_CONCURRENCY, ...more }: z.output<typeof evaluationQuery>,
): z.output<typeof newEvaluation> {
  if (judge === undefined && criteria !== undefined)
    throw badRequest('invalid_query', 'criteria are for a judge: name it with judge.');
  const ofQuery = {
    ...more,
    concurrency,
    ...(judge === undefined
      ? {}
      : { judge: { agent: judge, ...(criteria === undefined ? {} : { criteria }) } }),
  };
  return typeof body === 'string' ? ofQuery : { ...ofQuery, ...body };
}

function begun(deps: AppDeps, c: EndpointContext, started: EvaluationRow): EndpointResponse {
  const { run_id: runId } = started;
  if (runId !== null) c.afterCommit(async () => void (await startRun(deps, runId)));
  return {
    status: 201,
    body: presentEvaluation(started),
    headers: { Location: `${c.baseUrl}/evaluations/${started.id}` },
  };
}

function retryEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/evaluations/{id}/retry',
    operationId: 'retryEvaluation',
    scope: 'runs:write',
    summary: 'Try the cases of an evaluation again that ended in an error, or that failed',
    description:
      'Starts another evaluation of the same versions, checks and judge. The other cases keep their ' +
      'results in its report. If the first one ended without a report, all cases are tried again.',
    tags: TAGS,
    role: 'builder',
    inTeams: true,
    params: idParams,
    body: retryRequest,
    responses: { 201: evaluationRecord },
    errors: [409, 422],
    handler: async (c) => {
      const before = await getEvaluation(c.em, c.actor, c.params.id);
      c.checkSyntax();
      checkRetryable(before);
      return begun(deps, c, await retryEvaluation(c.em, c.actor, before, c.body, runLimits(deps.env)));
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
      tags: TAGS,
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
      tags: TAGS,
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
      tags: TAGS,
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
    tags: TAGS,
    role: 'builder',
    inTeams: true,
    params: idParams,
    responses: { 204: null },
    errors: [409],
    handler: async (c) => {
      c.audit.note(heldBy(await deleteEvaluation(c.em, c.actor, c.params.id)));
      return { status: 204 };
    },
  });
}
