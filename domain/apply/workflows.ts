import type { Resource as PinnedContent } from '../../language/definition/resources.ts';
import type { Problem } from '../../language/definition/validate.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import { holderOf } from '../auth/ownership.ts';
import { canonicalJson } from '../../contracts/canonical-json.ts';
import { invalid, type FieldError } from '../errors.ts';
import { timesOf } from '../../language/definition/schedule.ts';
import { noteSchedule } from '../schedules/state.ts';
import { checkRevisionLimit } from '../limits.ts';
import { checkQuota } from '../quotas/check.ts';
import { REFRESH_CODES } from '../registry/external-resources.ts';
import { keptRunners } from '../registry/runners.ts';
import { peopleProblems } from '../registry/people-problems.ts';
import { workflowWarnings } from '../registry/workflow-warnings.ts';
import { runnerProblems } from '../registry/runner-problems.ts';
import { versionProblems } from '../registry/version-problems.ts';
import { checkDefinition } from '../registry/workflow-definitions.ts';
import {
  archiveWorkflow,
  createWorkflow,
  definitionHasChanged,
  getRevision,
  sourceOf,
  updateWorkflow,
  written,
  type WorkflowState,
} from '../registry/workflow-service.ts';
import {
  existingSecrets,
  unknownSecret,
  type Applier,
  type ApplyContext,
  type WorkflowResource,
} from './resources.ts';

export const workflowApplier: Applier<WorkflowResource, WorkflowState> = {
  isNamed: true,
  async find({ em, holder }, id) {
    const workflow = await em.findOne(
      Workflow,
      { id, holder_id: holder },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    return workflow && { workflow, revision: await getRevision(em, workflow, workflow.revision) };
  },
  async alike({ em, holder }, { name }) {
    const found = await em.find(Workflow, { holder_id: holder, name, archived_at: null }, { limit: 10 });
    return Promise.all(
      found.map(async (workflow) => ({
        id: workflow.id,
        state: { workflow, revision: await getRevision(em, workflow, workflow.revision) },
      })),
    );
  },
  async changes(context, { workflow, revision }, resource) {
    const { fields } = resource;
    const { definition, source, placeOf, runners = {}, ...others } = fields;
    const fetched = context.fetched.get(fields.name);
    const { em, holder, measure } = context;
    const found = await checkDefinition(em, holder, definition, fields.name, fetched, measure);
    const checked = written(found, { source, placeOf });
    await checkRunnable(context, { ...checked, problems: checked.problems });
    const names = Object.entries(others).filter(
      ([name, value]) => canonicalJson(value) !== canonicalJson(Reflect.get(workflow, name)),
    );
    const kept = await keptRunners(em, runners);
    if (fields.runners !== undefined) context.keptRunners.set(resource, kept);
    const present = { users: [], groups: [], everyone: false, ...workflow.runners };
    return [
      ...(workflow.archived_at === null ? [] : ['archived_at']),
      ...names.map(([name]) => name),
      ...(canonicalJson(kept.runners) === canonicalJson(present) ? [] : ['runners']),
      ...(definitionHasChanged(revision, checked, await sourceOf(context.em, revision))
        ? ['definition']
        : []),
    ];
  },
  async create(context, { fields }) {
    const { workflow, revision } = await createWorkflow(
      context.em,
      context.actor,
      { ...fields, team_id: context.teamId },
      context.fetched.get(fields.name),
      context.measure,
    );
    await checkRunnable(context, revision);
    if (timesOf(revision.definition) !== null)
      await checkQuota(context.em, context.limits, 'schedules', holderOf(workflow));
    return workflow.id;
  },
  async update(context, state, resource) {
    const { em, actor, limits, fetched, measure } = context;
    const { fields } = resource;
    const kept = context.keptRunners.get(resource);
    const wasArchived = state.workflow.archived_at !== null;
    state.workflow.archived_at = null;
    const taken = fetched.get(fields.name);
    const patch = { ...fields, kept };
    const { workflow, revision } = await updateWorkflow(em, actor, state, patch, taken, measure);
    await checkRevisionLimit(em, limits, workflow);
    const times = timesOf(revision.definition);
    if (times === null) return;
    // Archiving has ended the schedule.
    if (wasArchived && revision.valid) await noteSchedule(em, workflow.id, times);
    await checkQuota(em, limits, 'schedules', holderOf(workflow));
  },
  async archive({ em }, { workflow }) {
    if (workflow.archived_at === null) await archiveWorkflow(em, workflow);
  },
  // What has changed at the source of the definition's functions, or could not be fetched now; and human
  // tasks that name people who are not there, or that the workflow's runners may not decide.
  async warnings({ em, actor, fetched, holder }, applied) {
    const definitions = applied.map(({ resource }) => resource.fields.definition);
    const ofPeople = await peopleProblems(em, actor, definitions);
    const ofRecords = await workflowWarnings(
      em,
      applied.map(({ resource: { fields }, id }) => {
        return { id, name: fields.name, holder, runners: fields.runners ?? {} };
      }),
    );
    return new Map(
      applied.map(({ resource: { name, fields }, id }, index) => {
        const problems = fetched.get(name)?.problems ?? [];
        const ofSources = problems.filter(({ code }) => REFRESH_CODES.includes(code));
        const ofRunners = runnerProblems(fields.runners ?? null, fields.definition);
        const warnings = [...ofSources, ...(ofPeople[index] ?? []), ...ofRunners];
        return [
          id,
          [
            ...warnings.map(({ pointer, code, message }) => {
              return { pointer: `/definition${pointer}`, code, message };
            }),
            ...(ofRecords.get(id) ?? []),
          ],
        ];
      }),
    );
  },
};

/**
 * What the workflow that the set has made under this name, or else the holder's own of this name, has pinned:
 * it stands in for a source that is not available now.
 */
export async function pinnedBefore(
  em: EntityManager,
  holder: string,
  set: string,
  name: string,
): Promise<PinnedContent[]> {
  const [row] = await em.execute<{ resources: PinnedContent[] | null }[]>(
    `select r.resources from workflow w
       join workflow_revision r on r.workflow_id = w.id and r.revision = w.revision
      where w.id = coalesce(
        (select a.resource_id from applied_resource a
           join workflow made on made.id = a.resource_id and made.holder_id = a.owner_id
          where a.owner_id = ? and a.set_name = ? and a.kind = 'workflow' and a.name = ?),
        (select own.id from workflow own
          where own.holder_id = ? and own.name = ? and own.archived_at is null order by own.id limit 1))`,
    [holder, set, name, holder, name],
  );
  return row?.resources ?? [];
}

/** @throws 422 with every error of the definition, and every secret that it reads and the holder lacks */
async function checkRunnable(
  context: ApplyContext,
  checked: { definition: Record<string, unknown>; problems: Problem[] } & Pick<
    WorkflowState['revision'],
    'agents'
  >,
): Promise<void> {
  const [versions = []] = await versionProblems(context.em, [
    { holder_id: context.holder, agents: checked.agents },
  ]);
  const errors: FieldError[] = [...checked.problems, ...versions]
    .filter(({ severity }) => severity === 'error')
    .map(({ pointer, code, message, line, column }) => ({
      pointer: `/definition${pointer}`,
      code,
      message,
      ...(line === undefined ? {} : { line, column }),
    }));
  const use = checked.definition['use'];
  const secrets: unknown = isRecord(use) ? use['secrets'] : undefined;
  const names = (Array.isArray(secrets) ? secrets : []).filter((name) => typeof name === 'string');
  const existing = await existingSecrets(context, names);
  const missing = names.filter((name) => !existing.has(name));
  errors.push(
    ...missing.map((name) => unknownSecret(context, `/definition/use/secrets/${names.indexOf(name)}`, name)),
  );
  if (errors.length > 0) throw invalid(errors);
}
