/**
 * `call: human` (docs/interface.md#call-human): a question with text, form, people and timers from the
 * definition.
 */
import { patched } from '@temporalio/workflow';
import { MAX_NAME, MAX_NAMES, MAX_TITLE } from '../../../contracts/hitl.ts';
import type { NewHumanTask, RequestedContext } from '../../../contracts/activities.ts';
import type { Candidates, HumanArguments } from '../../../language/definition/model.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { preview } from '../preview.ts';
import { toMs } from '../run-task.ts';
import { applied, askPerson, humanFrame, type Mark } from './ask-person.ts';

export async function callHuman(
  execution: Execution,
  args: HumanArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const human = (task.frame.human ??= humanFrame());
  const marks = schedule(args, human.created_at, at, input);
  const decision = await askPerson(execution, task, human, {
    task: () => limited(newTask(execution, args, task, human, marks, input, at), marks),
    marks,
    onExpiry: args.on_expiry ?? 'fault',
  });
  applied(execution, task, decision);
  const { payload, comment, decided_by, decided_at } = decision;
  const output = { decision: decision.decision, payload, comment, decided_by, decided_at };
  return {
    output: decision.votes === undefined ? output : { ...output, votes: decision.votes },
    data: { hitl_task_id: decision.task_id, decision: decision.decision },
  };
}

function schedule(args: HumanArguments, from: number, at: At, input: unknown): Mark[] {
  const after = (duration: unknown): number => from + toMs(duration, at, input);
  const marks: Mark[] = [
    ...(args.due === undefined ? [] : [{ kind: 'due' as const, at: after(args.due) }]),
    ...(args.remind ?? []).map((duration, i) => ({
      kind: 'remind' as const,
      at: after(duration),
      number: i + 1,
    })),
    ...(args.escalate ?? []).map((step, i) => ({
      kind: 'escalate' as const,
      at: after(step.after),
      level: i + 1,
      to: candidates(step.to, `escalate[${i}].to`, input, at),
    })),
    ...(args.expires === undefined ? [] : [{ kind: 'expire' as const, at: after(args.expires) }]),
  ];
  // The sort is stable: equal times keep the order above. Nothing comes after the expiry.
  marks.sort((a, b) => a.at - b.at);
  const end = marks.findIndex((mark) => mark.kind === 'expire');
  return end < 0 ? marks : marks.slice(0, end + 1);
}

function newTask(
  execution: Execution,
  args: HumanArguments,
  task: Task,
  human: { id: string },
  marks: Mark[],
  input: unknown,
  at: At,
): NewHumanTask {
  const moment = (kind: Mark['kind']): string | null => {
    const mark = marks.find((candidate) => candidate.kind === kind);
    return mark ? new Date(mark.at).toISOString() : null;
  };
  const needsComment = new Set(args.require_comment ?? []);
  const decisions = (args.decisions ?? ['approve', 'reject']).map((decision) =>
    typeof decision === 'string' ? { id: decision } : decision,
  );
  const priority = Number(resolve(args.priority ?? 50, input, at));
  if (!Number.isInteger(priority) || priority < 0 || priority > 100)
    throw fault('configuration', 'with.priority must be a whole number from 0 to 100', task.ref);
  const form =
    args.form === undefined || args.form === true ? null : args.form === false ? { not: {} } : args.form;
  const optionalText = (given: unknown, parameter: string): string | null => {
    const value = resolve(given ?? null, input, at);
    return value === null || value === undefined ? null : text(value, parameter, task.ref);
  };
  return {
    id: human.id,
    run_id: execution.start.run_id,
    task: task.ref,
    task_name: task.name,
    title: text(resolve(args.title, input, at), 'title', task.ref),
    description: optionalText(args.description, 'description'),
    subject: args.subject === undefined ? null : resolve(args.subject, input, at),
    form_schema: form,
    decisions: decisions.map(({ id, label }) => ({
      id,
      label: label ?? id,
      requires_comment: needsComment.has(id),
    })),
    assignee: optionalText(args.assignee, 'assignee'),
    candidates: candidates(args.candidates, 'candidates', input, at),
    priority,
    due_at: moment('due'),
    expires_at: moment('expire'),
    quorum: args.quorum
      ? {
          approvals: args.quorum.approvals ?? 1,
          rejections: args.quorum.rejections ?? 1,
          exclude_initiator: args.quorum.exclude_initiator ?? false,
          ...(args.quorum.exclude === undefined ? {} : { exclude: excluded(args.quorum.exclude, input, at) }),
        }
      : null,
    ...(args.decision_links === true ? { decision_links: true } : {}),
    ...(args.delegate === undefined ? {} : { delegate: args.delegate }),
    ...(args.context === undefined ? {} : { context: context(execution, args.context, task, input, at) }),
  };
}

/** Questions that were asked before the limits stay as they are. */
function limited(request: NewHumanTask, marks: readonly Mark[]): NewHumanTask {
  const problem = sizeProblem(request, marks);
  if (problem !== null && patched('question-size')) throw fault('validation', problem, request.task);
  return request;
}

/** What lists show of each human task is small. */
function sizeProblem(
  { title, assignee, candidates: asked, quorum }: NewHumanTask,
  marks: readonly Mark[],
): string | null {
  if (title.length > MAX_TITLE) return `with.title has more than ${MAX_TITLE} characters`;
  const escalated = marks.flatMap((mark) => (mark.kind === 'escalate' ? [mark.to] : []));
  const named: NewHumanTask['candidates'][] = [
    asked,
    ...escalated,
    ...(quorum?.exclude ? [{ roles: [], ...quorum.exclude }] : []),
  ];
  const names = named.flatMap(({ users, roles, groups, teams = [] }) => [
    ...users,
    ...roles,
    ...groups,
    ...teams,
  ]);
  if (names.length > MAX_NAMES) return `with names more than ${MAX_NAMES} people, roles, groups and teams`;
  const isLong = [assignee ?? '', ...names].some((name) => name.length > MAX_NAME);
  return isLong ? `with has a name of more than ${MAX_NAME} characters` : null;
}

/** Steps become pointers, for the activity that reads the log; values are computed here. */
function context(
  execution: Execution,
  entries: NonNullable<HumanArguments['context']>,
  task: Task,
  input: unknown,
  at: At,
): RequestedContext[] {
  return entries.flatMap((entry): RequestedContext[] => {
    if (typeof entry !== 'string')
      return Object.entries(entry).map(([name, spec]) => ({
        name,
        ...preview('value', resolve(spec, input, at)),
      }));
    const search = execution.steps.find(entry, task.ref);
    if (search === null || !('found' in search))
      throw fault('configuration', `with.context: there is no task ${JSON.stringify(entry)}`, task.ref);
    const { name, pointer } = search.found;
    const items = task.env.items?.filter(({ ref }) => pointer.startsWith(`${ref}/`));
    return [{ name, task: pointer, ...(items?.length && { items: items.map(({ index }) => index) }) }];
  });
}

function candidates(
  spec: Candidates | undefined,
  parameter: string,
  input: unknown,
  at: At,
): NewHumanTask['candidates'] {
  const list = (kind: keyof Candidates): string[] => {
    const value = resolve(spec?.[kind] ?? [], input, at);
    return (Array.isArray(value) ? value : [value])
      .filter((name) => name !== null && name !== undefined)
      .map((name) => text(name, `${parameter}.${kind}`, at.ref));
  };
  const people = { users: list('users'), roles: list('roles'), groups: list('groups') };
  return spec?.teams === undefined ? people : { ...people, teams: list('teams') };
}

function excluded(
  spec: Pick<Candidates, 'users' | 'groups'>,
  input: unknown,
  at: At,
): { users: string[]; groups: string[] } {
  const { users, groups } = candidates(spec, 'quorum.exclude', input, at);
  return { users, groups };
}

/** An expression may return any value; numbers are accepted as text. */
function text(value: unknown, parameter: string, ref: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw fault('validation', `with.${parameter} must be text, and its expression gives ${kindOf(value)}`, ref);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
