/** My tasks: on a terminal a list to decide from, elsewhere plain output. */
import { ApiError, type ListedHumanTask } from '../../client/index.ts';
import type { Cli } from '../core/cli.ts';
import { command } from '../core/command.ts';
import { CliError, failureLines, failureOf } from '../core/errors.ts';
import { flag } from '../core/flags.ts';
import { valueOf } from '../core/form.ts';
import { ask } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import {
  firstState,
  pickerLines,
  press,
  without,
  type Effect,
  type PickerState,
  type Row,
} from '../core/picker.ts';
import {
  checkDecision,
  decide,
  taskFlags,
  taskLines,
  taskQuery,
  taskView,
  type Decision,
} from '../core/tasks.ts';
import { ago } from '../core/text.ts';
import { isRecord } from '../../contracts/is-record.ts';

export const inboxCommand = command({
  brief: 'Show the tasks that wait for you; on a terminal, decide them',
  details:
    'On a terminal: j and k move, Enter shows a task, a prepares an approval, r a rejection and 1 to 9 ' +
    'the decisions that the task lists, Enter then sends it, c claims, R reloads, q quits.',
  flags: { ...listFlags, ...taskFlags, list: flag('Print the list, also on a terminal') },
  run: async (cli, { list, ...flags }) => {
    await cli.requireLogIn();
    const query = { ...(await taskQuery(cli, flags)), ...pageOf(flags) };
    const tasks = await collect(
      cli,
      cli.client.items('listHumanTasks', { query, signal: cli.signal }),
      flags,
    );
    const isPicker = cli.isInteractive && cli.out.format === 'table' && list !== true && tasks.length > 0;
    if (isPicker) await pick(cli, tasks, query);
    else await cli.out.list(tasks, taskView);
  },
});

const rowOf = ({ id, title, workflow_name: workflow, decisions = [], ...task }: ListedHumanTask): Row => ({
  id,
  text: title,
  detail: [workflow, ago(task.due_at ?? task.expires_at)].filter((part) => part !== '').join(', '),
  decisions: decisions.map((decision) => decision.id),
});

type TaskQuery = Awaited<ReturnType<typeof taskQuery>>;

async function pick(cli: Cli, tasks: readonly ListedHumanTask[], query: TaskQuery): Promise<void> {
  const { stdin } = cli.surroundings;
  const screen = new Screen(cli);
  let state = firstState(tasks.map(rowOf));
  for (;;) {
    screen.draw(state);
    const key = await readKey(stdin);
    if (key === '\u0003') process.kill(process.pid, 'SIGINT');
    const step = press(state, key);
    state = step.state;
    if (step.effect?.kind === 'quit') break;
    if (step.effect !== undefined) {
      screen.clear();
      state = await perform(cli, state, step.effect, query);
    }
  }
  screen.clear();
}

async function perform(cli: Cli, state: PickerState, effect: Effect, query: TaskQuery): Promise<PickerState> {
  try {
    switch (effect.kind) {
      case 'show':
        await show(cli, effect.row.id);
        return state;
      case 'claim':
        await cli.client.call('claimHumanTask', { path: { id: effect.row.id }, signal: cli.signal });
        return { ...state, note: `Claimed: ${effect.row.text}` };
      case 'decide':
        await decideRow(cli, effect.row.id, effect.decision);
        return without(state, effect.row.id, `${effect.decision}: ${effect.row.text}`);
      case 'reload': {
        const tasks = await cli.client.page('listHumanTasks', { query, signal: cli.signal });
        return firstState(tasks.items.map(rowOf));
      }
      case 'quit':
        return state;
    }
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof CliError)) throw error;
    const note = failureLines(failureOf(error)).join(' ');
    const isOver = error instanceof ApiError && (error.status === 409 || error.status === 404);
    return isOver && effect.kind === 'decide' ? without(state, effect.row.id, note) : { ...state, note };
  }
}

async function show(cli: Cli, id: string): Promise<void> {
  const task = await cli.client.call('getHumanTask', { path: { id }, signal: cli.signal });
  for (const line of await taskLines(task)) cli.out.text(line);
  cli.out.text('');
}

/** Asks for what the decision needs: the fields of the form, and a comment. */
async function decideRow(cli: Cli, id: string, decision: string): Promise<void> {
  const task = await cli.client.call('getHumanTask', { path: { id }, signal: cli.signal });
  const option = task.decisions.find((one) => one.id === decision);
  const given: Decision = { decision };
  if (decision !== 'reject' && task.form_schema !== null)
    given.payload = await askForm(cli, task.form_schema);
  if (option?.requires_comment === true) given.comment = await ask(cli, 'Comment: ');
  await checkDecision(task, given);
  await decide(cli, id, given);
}

async function askForm(
  cli: Cli,
  schema: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const payload: Record<string, unknown> = {};
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  for (const [name, property] of Object.entries(properties)) {
    const shape = isRecord(property) ? property : {};
    const title = typeof shape['title'] === 'string' ? shape['title'] : name;
    const answer = await ask(cli, `${title}: `);
    if (answer.trim() !== '')
      Object.defineProperty(payload, name, { value: valueOf(answer, shape), enumerable: true });
  }
  return payload;
}

type Stdin = Cli['surroundings']['stdin'];

/** One key, or the sequence of an arrow key. */
async function readKey(stdin: Stdin): Promise<string> {
  stdin.setRawMode?.(true);
  stdin.resume();
  try {
    return await new Promise<string>((resolve) => {
      stdin.once('data', (chunk: Buffer | string) => {
        // oxlint-disable-next-line no-control-regex -- an arrow key sends an escape sequence
        const [first = '', ...rest] = String(chunk).match(/\u001b\[[A-D]|[\s\S]/gu) ?? [];
        // Keys that came together are read one after the other.
        if (rest.length > 0) stdin.unshift(Buffer.from(rest.join('')));
        resolve(first);
      });
    });
  } finally {
    stdin.pause();
    stdin.setRawMode?.(false);
  }
}

/** Draws below what is on the terminal already, and over its own last picture. */
class Screen {
  readonly #cli: Cli;
  #lines = 0;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  draw(state: PickerState): void {
    const { stdout } = this.#cli.surroundings;
    this.clear();
    const lines = pickerLines(state, (stdout.columns || 80) - 1, stdout.rows || 24, this.#cli.out.paint);
    this.#lines = lines.length;
    stdout.write(`${lines.join('\n')}\n`);
  }

  clear(): void {
    if (this.#lines > 0) this.#cli.surroundings.stdout.write(`\u001b[${this.#lines}A\u001b[J`);
    this.#lines = 0;
  }
}
