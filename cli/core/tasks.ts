/** Human tasks: how they are shown, and how they are decided. */
import type { HumanTask, ListedHumanTask } from '../../client/index.ts';
import type { Cli } from './cli.ts';
import { choice, flag, text, type ValuesOf } from './flags.ts';
import { checkForm } from './form.ts';
import { filteredId } from './names.ts';
import type { View } from './table.ts';
import { ago, oneLine, printable } from './text.ts';
import { safeYaml } from './output.ts';

export const taskView: View<ListedHumanTask | HumanTask> = {
  columns: [
    ['id', ({ id }) => id],
    ['status', ({ status }) => status],
    ['priority', ({ priority }) => priority],
    ['due', (task) => ago(task.due_at ?? task.expires_at)],
    ['workflow', (task) => task.workflow_name],
    ['title', ({ title }) => title],
  ],
  name: ({ id }) => id,
  none: 'Nothing waits for you.',
};

/** What lists of tasks can be narrowed to, and their order. */
export const taskFlags = {
  sort: choice('Order: priority (default), due or created; then by age', ['priority', 'due', 'created']),
  claimedBy: text('Only those that this user has claimed, or me', 'USER'),
  overdue: flag('Only those past their due time'),
  dueBefore: text('Only those due before this time, such as 2027-01-31T18:00:00Z', 'TIME'),
};

export const taskQuery = async (
  cli: Cli,
  { sort, claimedBy, overdue, dueBefore }: ValuesOf<typeof taskFlags>,
) => ({
  sort,
  claimed_by: await filteredId(cli, claimedBy),
  overdue: overdue === true ? true : undefined,
  due_before: dueBefore,
});

/** All that a person needs for a decision. */
export async function taskLines(task: HumanTask): Promise<string[]> {
  const { title, description, subject, form_schema: form, decisions, decision, comments } = task;
  const block = async (name: string, value: unknown): Promise<string[]> =>
    value === null || value === undefined
      ? []
      : ['', `${name}:`, ...(await safeYaml(value)).split('\n').map((line) => `  ${line}`)];
  return [
    oneLine(title),
    `${task.status}, in ${oneLine(task.workflow_name)}, priority ${task.priority}`,
    ...(description === null ? [] : ['', ...printable(description).split('\n')]),
    ...(await block('subject', subject)),
    ...(await contextLines(task.context)),
    ...(await block('form', form?.['properties'] ?? form)),
    ...comments.flatMap(({ comment }) => ['', `comment: ${oneLine(comment)}`]),
    '',
    decision === null
      ? `decisions: ${decisions.map(({ id }) => oneLine(id)).join(', ')}`
      : `decided: ${oneLine(decision.decision)}`,
  ];
}

async function contextLines(context: HumanTask['context']): Promise<string[]> {
  const lines: string[] = [];
  for (const { name, status, value, value_omitted: isOmitted } of context ?? []) {
    const state = [status, isOmitted ? 'too large to keep' : null].filter((word) => word !== null);
    lines.push(`  ${oneLine(name)}${state.length > 0 ? ` (${state.join(', ')})` : ''}`);
    if (value !== null && value !== undefined)
      lines.push(
        ...(await safeYaml(value))
          .trimEnd()
          .split('\n')
          .map((line) => `    ${line}`),
      );
  }
  return lines.length > 0 ? ['', 'what led here:', ...lines] : [];
}

export interface Decision {
  decision: string;
  payload?: unknown;
  comment?: string;
}

/** Finds mistakes in a decision before it is sent. The server checks again. */
export async function checkDecision(task: HumanTask, { decision, payload }: Decision): Promise<void> {
  if (decision !== 'reject') await checkForm(task.form_schema, payload ?? {}, '/payload');
}

export async function decide(cli: Cli, id: string, decision: Decision): Promise<HumanTask> {
  const { task } = await cli.client.call('decideHumanTask', {
    path: { id },
    body: decision,
    // A repeated request decides once.
    idempotencyKey: crypto.randomUUID(),
    signal: cli.signal,
  });
  return task;
}
