/**
 * Applies a set of resources: makes the records of a user or team equal to them, all or none. A set changes
 * only what it has made itself (docs/apply.md).
 */
import { AppError, type FieldError } from '../errors.ts';
import { agentApplier } from './agents.ts';
import { lockSets, madeBySets, noteApplied, noteArchived, rowsOfSet, type AppliedRow } from './applied.ts';
import { eventSourceApplier } from './event-sources.ts';
import { hookApplier } from './hooks.ts';
import { orderOf } from './order.ts';
import { checkPlan, digestOf, type Applied, type ApplyRequest, type PlanItem } from './plan.ts';
import { KIND_WORDS, namePointer, pointerOf, refusal, type ResourceProblem } from './problems.ts';
import {
  RESOURCE_KINDS,
  type Applier,
  type ApplyContext,
  type Resource,
  type ResourceKind,
} from './resources.ts';
import { webhookApplier } from './webhooks.ts';
import { workflowApplier } from './workflows.ts';

const MAX_PROBLEMS = 200;

const APPLIERS: { readonly [Kind in ResourceKind]: Applier<Extract<Resource, { kind: Kind }>, unknown> } = {
  agent: agentApplier,
  workflow: workflowApplier,
  webhook: webhookApplier,
  hook: hookApplier,
  event_source: eventSourceApplier,
};

/**
 * Applies all resources, and archives what the set no longer has if `prune` is set. A dry run does the same
 * and undoes it. @throws 422 with every problem of every resource; 409 unless the plan is the one that the
 * caller has seen
 */
export async function applySet(
  context: Omit<ApplyContext, 'workflowIds' | 'keptRunners'>,
  request: ApplyRequest,
): Promise<Applied> {
  const { em, holder } = context;
  await lockSets(em, holder);
  const rows = await rowsOfSet(em, holder, request.set);
  if (request.dry_run) await em.execute('savepoint dry_run');
  const applying = new Applying(context, request, rows);
  const plan = [...(await applying.applyAll()), ...(await applying.prune())];
  const digest = digestOf(request, plan, context.fetched);
  if (request.dry_run) {
    await em.execute('rollback to savepoint dry_run');
    em.clear();
    context.due.clear();
    return { digest, plan: plan.map((item) => (item.action === 'create' ? { ...item, id: null } : item)) };
  }
  checkPlan(request, digest, plan);
  return { digest, plan };
}

class Applying {
  readonly #context: ApplyContext;
  readonly #request: ApplyRequest;
  readonly #rows: AppliedRow[];
  readonly #problems: ResourceProblem[] = [];

  constructor(
    context: Omit<ApplyContext, 'workflowIds' | 'keptRunners'>,
    request: ApplyRequest,
    rows: AppliedRow[],
  ) {
    const workflows = rows.filter(({ kind, archived_at: archived }) => kind === 'workflow' && !archived);
    this.#context = {
      ...context,
      keptRunners: new WeakMap(),
      workflowIds: new Map(workflows.map(({ name, resource_id: id }) => [name, id])),
    };
    this.#request = request;
    this.#rows = rows;
  }

  /** @throws 422 */
  async applyAll(): Promise<PlanItem[]> {
    const { resources } = this.#request;
    const { order, dependencies, circular } = orderOf(resources);
    this.#checkNames(circular);
    const plan: PlanItem[] = [];
    const failed = new Set<number>();
    for (const index of order) {
      const resource = resources[index];
      if (!resource) continue;
      try {
        const item = await this.#apply(APPLIERS[resource.kind], resource);
        if (item.kind === 'workflow' && item.id !== null) this.#context.workflowIds.set(item.name, item.id);
        plan.push(item);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        // Nothing of this transaction stays, but the next flush would write what the failure left behind.
        this.#context.em.clear();
        failed.add(index);
        const follows = (dependencies[index] ?? []).some((dependency) => failed.has(dependency));
        this.#note(index, resource, error, follows);
      }
    }
    if (failed.size > 0 || this.#problems.length > 0) throw refusal(this.#problems);
    return this.#warned(plan);
  }

  /** What the set has made and no longer names. */
  async prune(): Promise<PlanItem[]> {
    const named = new Set(this.#request.resources.map(({ kind, name }) => `${kind}:${name}`));
    const left = this.#rows.filter(
      ({ kind, name, archived_at: archived }) => !archived && !named.has(`${kind}:${name}`),
    );
    const plan: PlanItem[] = [];
    for (const row of left) {
      const { kind, name, resource_id: id } = row;
      const applier = APPLIERS[kind];
      const state = await applier.find(this.#context, id);
      if (state === null) continue;
      if (this.#request.prune) {
        this.#context.checkKind(kind);
        await applier.archive(this.#context, state);
        await noteArchived(this.#context.em, row);
      }
      const action = this.#request.prune ? 'archive' : 'keep';
      plan.push({ kind, name, id, action, changes: [], warnings: [] });
    }
    return plan;
  }

  #checkNames(circular: readonly number[]): void {
    const seen = new Set<string>();
    for (const [index, { kind, name }] of this.#request.resources.entries()) {
      const key = `${kind}:${name}`;
      if (seen.has(key))
        this.#add(
          index,
          namePointer(kind),
          'duplicate',
          `the set names the ${KIND_WORDS[kind]} ${name} twice`,
        );
      seen.add(key);
      if (circular.includes(index))
        this.#add(
          index,
          '',
          'circular',
          `the ${KIND_WORDS[kind]} ${name} depends on itself through other resources`,
        );
    }
    if (this.#problems.length > 0) throw refusal(this.#problems);
  }

  async #apply<R extends Resource, State>(applier: Applier<R, State>, resource: R): Promise<PlanItem> {
    const context = this.#context;
    const { kind, name } = resource;
    const row = this.#rows.find((each) => each.kind === kind && each.name === name);
    const state = row ? await applier.find(context, row.resource_id) : null;
    if (!row || state === null) return this.#create(applier, resource);
    const changes = await applier.changes(context, state, resource);
    const id = row.resource_id;
    if (changes.length > 0) await applier.update(context, state, resource);
    if (changes.length > 0 || row.archived_at !== null)
      await noteApplied(context, this.#request.set, { kind, name, id });
    const action = changes.length > 0 ? 'update' : 'unchanged';
    return { kind, name, id, action, changes, warnings: [] };
  }

  /** An equal record that a person made counts as unchanged, and stays theirs. */
  async #create<R extends Resource, State>(applier: Applier<R, State>, resource: R): Promise<PlanItem> {
    const context = this.#context;
    const { kind, name } = resource;
    const others = await applier.alike(context, resource);
    const ofSets = await madeBySets(
      context.em,
      context.holder,
      others.map(({ id }) => id),
    );
    for (const { id, state } of others.filter((each) => !ofSets.has(each.id)))
      if ((await applier.changes(context, state, resource)).length === 0)
        return { kind, name, id, action: 'unchanged', changes: [], warnings: [] };
    if (applier.isNamed && others.length > 0) {
      const other = `${KIND_WORDS[kind]} ${name}`;
      const message = `there is another ${other}, which this set did not make and does not change`;
      throw new AppError('invalid', 'not_of_this_set', message, {
        errors: [{ pointer: namePointer(kind), code: 'not_of_this_set', message }],
      });
    }
    const id = await applier.create(context, resource);
    await noteApplied(context, this.#request.set, { kind, name, id });
    return { kind, name, id, action: 'create', changes: [], warnings: [] };
  }

  /** The plan with its warnings, once all records are as they will be. */
  async #warned(plan: readonly PlanItem[]): Promise<PlanItem[]> {
    const found = new Map<string, FieldError[]>();
    for (const kind of RESOURCE_KINDS)
      for (const [id, warnings] of await this.#warningsOf(kind, plan)) found.set(id, warnings);
    return plan.map((item) => ({ ...item, warnings: found.get(item.id ?? '') ?? [] }));
  }

  async #warningsOf<Kind extends ResourceKind>(
    kind: Kind,
    plan: readonly PlanItem[],
  ): Promise<ReadonlyMap<string, FieldError[]>> {
    const ids = new Map(plan.filter((item) => item.kind === kind).map(({ name, id }) => [name, id]));
    const isOfKind = (resource: Resource): resource is Extract<Resource, { kind: Kind }> =>
      resource.kind === kind;
    const applied = this.#request.resources.filter(isOfKind).flatMap((resource) => {
      const id = ids.get(resource.name) ?? null;
      return id === null ? [] : [{ resource, id }];
    });
    if (applied.length === 0) return new Map();
    return (await APPLIERS[kind].warnings?.(this.#context, applied)) ?? new Map();
  }

  /** A resource whose dependency failed does not report that the dependency is missing. */
  #note(index: number, { kind }: Resource, error: AppError, follows: boolean): void {
    const errors = error.errors ?? [
      { pointer: pointerOf(kind, error.code), code: error.code, message: error.detail },
    ];
    const missing = new Set(['unknown_agent', 'unknown_workflow', 'missing_reference']);
    for (const { pointer, code, message } of errors)
      if (!follows || !missing.has(code)) this.#add(index, pointer, code, message);
  }

  #add(index: number, pointer: string, code: string, message: string): void {
    const resource = this.#request.resources[index];
    if (!resource || this.#problems.length >= MAX_PROBLEMS) return;
    const { kind, name } = resource;
    this.#problems.push({ kind, name, pointer: `/resources/${index}${pointer}`, code, message });
  }
}
