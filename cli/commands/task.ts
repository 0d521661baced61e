/** Human tasks. */
import { buildRouteMap, type Command } from '@stricli/core';

import type { HumanTask, HumanTaskAuditEntry, HumanTaskBatch, Problem } from '../../client/index.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import { attachFlag, withFiles } from '../core/attach.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, commandOfMany, type Context } from '../core/command.ts';
import { EXIT, usageError, type ExitCode } from '../core/errors.ts';
import { choice, sets, text, texts } from '../core/flags.ts';
import { readForm } from '../core/form.ts';
import { collect, listFlags, pageOf, viewOf } from '../core/lists.ts';
import { ofTeam, workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import {
  checkDecision,
  decide,
  taskFlags,
  taskLines,
  taskQuery,
  taskView,
  type Decision,
} from '../core/tasks.ts';
import { oneLine } from '../core/text.ts';

const TASK = argument('TASK', 'Id of a human task', 'task');

const list = command({
  brief: 'List human tasks',
  flags: {
    ...listFlags,
    scope: choice('Whose: those that you can decide (default), can see, or everybody’s', [
      'mine',
      'candidate',
      'all',
    ]),
    status: text('One or more of open, claimed, decided, …, separated by commas', 'STATUS'),
    ...taskFlags,
    run: text('Tasks of this run', 'RUN'),
    workflow: text('Tasks of runs of this workflow', 'WORKFLOW'),
    team: text('Tasks of runs of workflows of this team', 'TEAM'),
    search: text('Text in title, description or workflow', 'TEXT'),
  },
  run: async (cli, { scope, status, run, workflow, team, search, ...flags }) => {
    await cli.requireLogIn();
    const { sort, ...narrowing } = await taskQuery(cli, flags);
    const filters = {
      ...narrowing,
      scope: scope === 'mine' ? undefined : scope,
      status,
      run_id: run,
      workflow_id: workflow === undefined ? undefined : await workflowId(cli, workflow),
      ...(await ofTeam(cli, team)),
      q: search,
    };
    const query = { ...filters, sort, ...pageOf(flags) };
    const items = cli.client.items('listHumanTasks', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), viewOf(taskView, filters));
  },
});

const get = command({
  brief: 'Show a task: what to decide, its form, its comments',
  arguments: [TASK],
  run: async (cli, _flags, id) => {
    const task = await cli.client.call('getHumanTask', { path: { id }, signal: cli.signal });
    const lines = await taskLines(task);
    await cli.out.record(task, { ...taskView, lines: () => lines });
  },
});

const decideCommand = commandOfMany({
  brief: 'Decide one task or several',
  details:
    'The last argument is the decision: approve, reject, or another word that the task lists. The form is ' +
    'checked first. Exits with 5 if somebody else was faster.',
  flags: {
    input: texts('Field of the form', 'NAME=VALUE'),
    file: text('Form: a file of JSON or YAML, - for standard input', 'FILE'),
    attach: attachFlag,
    comment: text('Comment on the decision', 'TEXT'),
  },
  letters: { i: 'input', f: 'file', m: 'comment' },
  many: {
    placeholder: 'TASK DECISION',
    brief: 'Ids of tasks, then the decision',
    records: 'task',
    minimum: 2,
  },
  run: async (cli, { input: pairs, file, attach, comment }, values) => {
    const ids = values.slice(0, -1);
    const decision = values.at(-1) ?? '';
    const tasks = await Promise.all(
      ids.map((id) => cli.client.call('getHumanTask', { path: { id }, signal: cli.signal })),
    );
    const [first] = tasks;
    if (first === undefined) throw usageError('Name a task and a decision.');
    for (const task of tasks) checkOffered(task, decision);
    // A rejection needs no form.
    const reading = { what: 'form', isOpen: decision === 'reject' } as const;
    const read = await readForm(cli, { pairs, file }, first.form_schema, reading);
    // Files for the first task, which the runs of the others may then read too.
    const payload = await withFiles(cli, read, attach ?? [], {
      schema: first.form_schema,
      uploadFor: { human_task: first.id },
    });
    const given: Decision = {
      decision,
      ...(payload === undefined ? {} : { payload }),
      ...(comment === undefined ? {} : { comment }),
    };
    // A task that is over is refused with the decision that won, which matters more than a form.
    for (const task of tasks) if (isUndecided(task.status)) await checkDecision(task, given);
    if (ids.length > 1) return decideMany(cli, ids, given);
    await cli.out.record(await decide(cli, first.id, given), taskView);
    return EXIT.good;
  },
});

/** Before the form, which is none of a wrong decision. @throws CliError */
function checkOffered({ id, status, decisions }: HumanTask, decision: string): void {
  const offered = decisions.map((one) => one.id);
  if (!isUndecided(status) || offered.includes(decision)) return;
  throw usageError(
    oneLine(
      `Task ${id} has no decision ${decision}` +
        (didYouMean(decision, offered) || `. It has: ${offered.join(', ')}`),
    ),
  );
}

const isUndecided = (status: string): boolean => status === 'open' || status === 'claimed';

type Result = HumanTaskBatch['results'][number];

const resultView: View<Result> = {
  columns: [
    ['id', (result) => result.task_id],
    ['status', ({ task, status }) => task?.status ?? status],
    ['', ({ task, problem }) => problem?.detail ?? task?.title],
  ],
  name: (result) => result.task_id,
  wraps: true,
};

async function decideMany(cli: Cli, ids: readonly string[], decision: Decision): Promise<ExitCode> {
  const { results } = await cli.client.call('decideHumanTasks', {
    body: { decisions: ids.map((id) => ({ ...decision, task_id: id })) },
    idempotencyKey: crypto.randomUUID(),
    signal: cli.signal,
  });
  await cli.out.list(results, resultView);
  const refused = results.flatMap(({ problem }): Problem[] => (problem === undefined ? [] : [problem]));
  if (refused.length === 0) return EXIT.good;
  cli.say(`${refused.length} of ${results.length} were refused.`);
  return refused.every(({ status }) => status === 409) ? EXIT.conflict : EXIT.failed;
}

type Action = 'claimHumanTask' | 'releaseHumanTask';

function action(id: Action, brief: string): Command<Context> {
  return command({
    brief,
    arguments: [TASK],
    run: async (cli, _flags, task) => {
      await cli.out.record(await cli.client.call(id, { path: { id: task }, signal: cli.signal }), taskView);
    },
  });
}

const delegate = command({
  brief: 'Give a task to another user',
  arguments: [TASK, sets(argument('USER', 'Id or username', 'person'), 'to')],
  run: async (cli, _flags, id, to) => {
    const body = { to };
    await cli.out.record(await cli.client.call('delegateHumanTask', { path: { id }, body }), taskView);
  },
});

const comment = command({
  brief: 'Comment on a task',
  arguments: [TASK, argument('TEXT', 'The comment')],
  run: async (cli, _flags, id, words) => {
    await cli.out.value(
      await cli.client.call('commentHumanTask', { path: { id }, body: { comment: words } }),
    );
  },
});

const auditView: View<HumanTaskAuditEntry> = {
  columns: [
    ['at', ({ at }) => at],
    ['action', ({ action: done }) => done],
    [
      'by',
      ({ actor, as_admin: asAdmin }) => `${actor?.username ?? 'the run'}${asAdmin ? ' (as admin)' : ''}`,
    ],
    ['via', ({ via }) => via],
    ['data', ({ data }) => (Object.keys(data).length === 0 ? '' : data)],
  ],
  name: ({ id }) => id,
  wraps: true,
};

const audit = command({
  brief: 'List who did what with a task, oldest first',
  flags: listFlags,
  arguments: [TASK],
  run: async (cli, flags, id) => {
    const items = cli.client.items('listHumanTaskAudit', {
      path: { id },
      query: pageOf(flags),
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), auditView);
  },
});

const summary = command({
  brief: 'Count the tasks that you can decide, are overdue, or that you have claimed',
  run: async (cli) => {
    await cli.requireLogIn();
    await cli.out.record(await cli.client.call('getHumanTaskSummary', { signal: cli.signal }), {
      columns: [
        ['open', ({ open }) => countText(open)],
        ['overdue', ({ overdue }) => countText(overdue)],
        ['claimed by me', (counts) => countText(counts.claimed_by_me)],
      ],
      name: ({ open }) => String(open),
    });
  },
});

/** The server stops counting here. */
const MAX_COUNTED = 1_000;
const countText = (count: number): string => (count < MAX_COUNTED ? String(count) : `${MAX_COUNTED} or more`);

const routes = {
  list,
  summary,
  get,
  decide: decideCommand,
  claim: action('claimHumanTask', 'Claim a task, so that nobody else decides it'),
  release: action('releaseHumanTask', 'Release a task that you claimed'),
  delegate,
  comment,
  audit,
};

export const taskCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Human tasks: look, claim, decide' },
});
