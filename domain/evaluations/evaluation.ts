/**
 * Evaluations: an agent's versions, side by side on a data set (docs/evaluations.md). All calls are made by
 * one run; `report.ts` makes the report when it has ended.
 */
import { v7 as uuidv7 } from 'uuid';
import type { DslError } from '../../contracts/dsl-error.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, Conditions, isOneOf, type KeysetPage } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, invalid, notFound, type FieldError } from '../errors.ts';
import { mayChangeAgent, type Ownership } from '../registry/agent-policy.ts';
import {
  chooseVersion,
  describeRefusal,
  DRAFT,
  publishedVersion,
  type VersionState,
} from '../registry/choose-version.ts';
import { pinAgent } from '../registry/pin.ts';
import { createRun } from '../runs/create.ts';
import type { RunLimits } from '../runs/limits.ts';
import { expressionProblem, type Check } from './checks.ts';
import { evaluationDefinition } from './definition.ts';
import type { EvaluationCase, Judge } from './given.ts';
import type { CaseResult, Mark, VersionFigures } from './results.ts';

/** Cases times versions. */
const MAX_CALLS = 2_000;
/** Of one agent; the oldest that have ended make room. */
const MAX_KEPT = 20;

export const EVALUATION_STATUSES = ['running', 'completed', 'faulted', 'cancelled'] as const;
export type EvaluationStatus = (typeof EVALUATION_STATUSES)[number];
const ENDED = ['completed', 'faulted', 'cancelled'] as const satisfies EvaluationStatus[];

interface NewEvaluation {
  name?: string | undefined;
  cases: EvaluationCase[];
  checks: Check[];
  /** Versions, ranges or `draft`. Default: the highest published version and the draft. */
  versions?: string[] | undefined;
  judge?:
    | {
        agent: string;
        version?: string | undefined;
        criteria?: string | undefined;
        pass?: string | undefined;
      }
    | undefined;
  /** Calls of each version at the same time. */
  concurrency: number;
}

export interface EvaluationRow {
  id: string;
  agent_id: string;
  started_by: string;
  name: string | null;
  run_id: string | null;
  retry_of: string | null;
  status: EvaluationStatus;
  versions: string[];
  judge: Judge | null;
  checks: Check[];
  cases: number;
  report: { versions: VersionFigures[]; differing: number } | null;
  error: DslError | null;
  created_at: Date | string;
  finished_at: Date | string | null;
}

/**
 * Starts the run with all calls, as the actor's. The agent is theirs, or they are an admin. @throws 422 for a
 * version or a judge that does not exist, or an expression that is none; 429 at the limit of live runs
 */
export async function startEvaluation(
  em: EntityManager,
  actor: Actor,
  agent: Pick<Agent, 'id' | 'name' | 'version'>,
  given: NewEvaluation,
  limits: RunLimits,
): Promise<EvaluationRow> {
  checkExpressions(given);
  const versions = await versionsOf(em, agent, given.versions);
  if (given.cases.length * versions.length > MAX_CALLS) {
    const calls = given.cases.length * versions.length;
    const message = `Cases times versions are ${calls} calls; an evaluation may have ${MAX_CALLS}.`;
    throw invalid([{ pointer: '/cases', code: 'too_big', message }], message);
  }
  const judge = await judgeOf(em, actor, given.judge);
  const runId = await startCalls(em, actor, agent, { ...given, versions, judge }, limits);
  const { name = null, checks, cases } = given;
  const id = await insertEvaluation(em, actor, {
    agent_id: agent.id,
    name,
    run_id: runId,
    versions,
    judge,
    checks,
    cases: cases.length,
  });
  await em.execute(
    `insert into evaluation_case (evaluation_id, number, given)
     select ?, c.number, c.given from json_to_recordset(?::json) as c (number int, given json)`,
    [id, JSON.stringify(given.cases.map((one, number) => ({ number, given: one })))],
  );
  await makeRoom(em, agent.id);
  return getEvaluation(em, actor, id);
}

/** @returns its id */
export async function insertEvaluation(
  em: EntityManager,
  actor: Actor,
  {
    retry_of: retryOf = null,
    taken_over: takenOver = null,
    ...row
  }: Pick<EvaluationRow, 'agent_id' | 'name' | 'run_id' | 'versions' | 'judge' | 'checks' | 'cases'> & {
    retry_of?: string | null;
    /** The figures of each version that the spending of this one is added to. */
    taken_over?: VersionFigures[] | null;
  },
): Promise<string> {
  const id = uuidv7();
  const { agent_id: agentId, name, run_id: runId, versions, judge, checks, cases } = row;
  await em.execute(
    `insert into evaluation (id, agent_id, started_by, name, run_id, retry_of, versions, judge, checks, cases,
                             taken_over)
     values (?, ?, ?, ?, ?, ?, ?::text[], ?::json, ?::json, ?, ?::json)`,
    [
      id,
      agentId,
      actor.id,
      name,
      runId,
      retryOf,
      arrayLiteral(versions),
      judge === null ? null : JSON.stringify(judge),
      JSON.stringify(checks),
      cases,
      takenOver === null ? null : JSON.stringify(takenOver),
    ],
  );
  return id;
}

/** @returns the id of the run */
export async function startCalls(
  em: EntityManager,
  actor: Actor,
  agent: Pick<Agent, 'id' | 'name'>,
  {
    cases,
    versions,
    judge,
    concurrency,
  }: { cases: EvaluationCase[]; versions: string[]; judge: Judge | null; concurrency: number },
  limits: RunLimits,
): Promise<string> {
  const { id } = await createRun(em, {
    workflow_id: null,
    workflow_revision: null,
    workflow_name: `Evaluation of ${agent.name}`,
    definition: evaluationDefinition(agent.id, versions, judge, concurrency),
    // Only a judge needs what is expected.
    input: { cases: cases.map(({ input, expected }) => (judge ? { input, expected } : { input })) },
    owner_id: actor.id,
    rights_of: actor.id,
    agents: [
      ...versions.map((version, index) => ({ agent: agent.id, version, pointer: `/versions/${index}` })),
      ...(judge ? [{ agent: judge.agent_id, version: judge.version, pointer: '/judge/agent' }] : []),
    ],
    agent_id: agent.id,
    tags: ['evaluation'],
    limits,
  });
  return id;
}

/** Of the agent's evaluations, the oldest that have ended. */
export async function makeRoom(em: EntityManager, agentId: string): Promise<void> {
  await em.execute(
    `delete from evaluation where id in (
       select id from evaluation where agent_id = ? and ${isOneOf('status', ENDED)}
        order by id desc offset ?)`,
    [agentId, MAX_KEPT],
  );
}

function checkExpressions({ cases, checks, judge }: NewEvaluation): void {
  const problems: FieldError[] = [];
  const look = (pointer: string, source: string | undefined): void => {
    const message = source === undefined ? null : expressionProblem(source);
    if (message !== null) problems.push({ pointer, code: 'expression', message });
  };
  for (const [index, { jq }] of checks.entries()) look(`/checks/${index}/jq`, jq);
  for (const [number, { checks: own = [] }] of cases.entries())
    for (const [index, { jq }] of own.entries()) look(`/cases/${number}/checks/${index}/jq`, jq);
  look('/judge/pass', judge?.pass);
  if (problems.length > 0) throw invalid(problems, 'An expression of the evaluation is no jq.');
}

/** The exact versions. */
export async function versionsOf(
  em: EntityManager,
  agent: Pick<Agent, 'id' | 'name' | 'version'>,
  wanted: readonly string[] | undefined,
): Promise<string[]> {
  const versions = await em.execute<VersionState[]>(
    `select version, status from agent_version where agent_id = ?`,
    [agent.id],
  );
  const from = { current: agent.version, versions, mayUseDrafts: true };
  if (wanted === undefined) {
    const published = publishedVersion(versions);
    const draft = chooseVersion(DRAFT, from);
    const chosen = [...(published === null ? [] : [published]), ...(isChosen(draft) ? [draft.version] : [])];
    if (chosen.length > 0) return chosen;
    const served = chooseVersion(undefined, from);
    return isChosen(served) ? [served.version] : [];
  }
  const chosen: string[] = [];
  for (const [index, one] of wanted.entries()) {
    const version = chooseVersion(one, from);
    const pointer = `/versions/${index}`;
    if (!isChosen(version)) {
      const message = describeRefusal(version, agent.name, one);
      throw invalid([{ pointer, code: version, message }], message, version);
    }
    if (chosen.includes(version.version)) {
      const message = `Version ${version.version} is named twice.`;
      throw invalid([{ pointer, code: 'duplicate', message }], message);
    }
    chosen.push(version.version);
  }
  return chosen;
}

function isChosen(choice: ReturnType<typeof chooseVersion>): choice is VersionState {
  return typeof choice !== 'string';
}

export async function judgeOf(
  em: EntityManager,
  actor: Actor,
  judge: NewEvaluation['judge'],
): Promise<Judge | null> {
  if (judge === undefined) return null;
  const pin = await pinAgent(em, actor.id, { agent: judge.agent, version: judge.version });
  if (!pin.found)
    throw invalid([{ pointer: '/judge/agent', code: pin.reason, message: pin.message }], pin.message);
  const { id, name, version } = pin.pinned;
  return { agent_id: id, agent: name, version, criteria: judge.criteria ?? null, pass: judge.pass ?? null };
}

const COLUMNS = `e.id, e.agent_id, e.started_by, e.name, e.run_id, e.retry_of, e.status,
  to_json(e.versions) as versions, e.judge, e.checks, e.cases, e.report, e.error, e.created_at,
  e.finished_at`;

/** Newest first. Who may change the agent sees them. */
export function listEvaluations(
  em: EntityManager,
  agentId: string,
  { after, limit }: KeysetPage,
): Promise<EvaluationRow[]> {
  const conditions = new Conditions().add('e.agent_id = ?', agentId);
  if (after !== undefined) conditions.add('e.id < ?', after);
  return em.execute(
    `select ${COLUMNS} from evaluation e where ${conditions.sql} order by e.id desc limit ?`,
    [...conditions.values, limit],
  );
}

/** @throws 404, also for those who may not change the agent */
export async function getEvaluation(
  em: EntityManager,
  actor: Actor,
  id: string,
): Promise<EvaluationRow & Ownership> {
  const [found] = await em.execute<(EvaluationRow & Ownership)[]>(
    `select ${COLUMNS}, a.owner_id, a.team_id, a.visibility
       from evaluation e join agent a on a.id = e.agent_id
      where e.id = ?`,
    [id],
  );
  if (!found || !mayChangeAgent(actor, found)) throw notFound('evaluation');
  return found;
}

export interface CaseRow {
  number: number;
  given: EvaluationCase & { omitted?: string[] };
  results: CaseResult[] | null;
  marks: Mark[];
}

/** In the order of the data set. */
export function listCases(
  em: EntityManager,
  evaluationId: string,
  { only }: { only?: Mark | undefined },
  { after, limit }: KeysetPage<number>,
): Promise<CaseRow[]> {
  const conditions = new Conditions().add('evaluation_id = ?', evaluationId);
  if (after !== undefined) conditions.add('number > ?', after);
  if (only !== undefined) conditions.add('marks @> array[?::text]', only);
  return em.execute(
    `select number, given, results, to_json(marks) as marks from evaluation_case
      where ${conditions.sql} order by number limit ?`,
    [...conditions.values, limit],
  );
}

/** @returns the team of its agent, if it has one @throws 404; 409 while its run lives */
export async function deleteEvaluation(
  em: EntityManager,
  actor: Actor,
  id: string,
): Promise<string | null | undefined> {
  const { run_id: runId, team_id: team } = await getEvaluation(em, actor, id);
  const gone = await em.execute<object[]>(
    `delete from evaluation where id = ? and ${isOneOf('status', ENDED)} returning id`,
    [id],
  );
  if (gone.length === 0)
    throw conflict('evaluation_running', 'The evaluation is running: cancel its run first.', {
      run_id: runId,
    });
  return team;
}
