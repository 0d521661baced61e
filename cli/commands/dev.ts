/** Keeps the server equal to a folder while somebody works in it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Cli } from '../core/cli.ts';
import { command, optional } from '../core/command.ts';
import { EXIT, failureOf } from '../core/errors.ts';
import { text } from '../core/flags.ts';
import { readFolder } from '../core/folder.ts';
import { report } from '../core/report.ts';
import { printEvents, sayEnd } from '../core/runs.ts';
import { oneLine } from '../core/text.ts';
import { FolderWatch } from '../core/watch.ts';
import { sayMisnamed, sayWarnings, sendFolder, SIGNS, type PlanItem } from './apply.ts';
import { startRun } from './run.ts';

interface Options {
  set: string | undefined;
  /** The workflow to run after each change. */
  run: string | undefined;
}

export const devCommand = command({
  brief: 'Apply a folder at each change, until Ctrl-C',
  details:
    'Checks the folder and applies it, now and whenever one of its files changes; see cadenza apply. ' +
    'Mistakes are shown with their files, and change nothing. Nothing is archived. With --run a run of the ' +
    'workflow starts after each change, with input.yaml of the folder as its input, and its log is shown ' +
    'until the next change.',
  flags: {
    set: text('Name of the set; default: `set` of cadenza.yaml, else the name of the folder', 'NAME'),
    run: text('Also run this workflow of yours', 'WORKFLOW'),
  },
  arguments: [optional('DIR', 'The folder. Default: here')],
  run: async (cli, options, folder = '.') => {
    await cli.requireLogIn();
    const watch = new FolderWatch(folder);
    const stopped = new Promise((resolve) => cli.signal.addEventListener('abort', resolve, { once: true }));
    try {
      cli.say(`Watching ${folder}. Ctrl-C ends this.`);
      while (!cli.signal.aborted) {
        const next = new AbortController();
        const changed = watch.next().finally(() => next.abort());
        // It is awaited below; until then its failure is nobody's.
        changed.catch(() => undefined);
        await keepEqual(cli, folder, options, AbortSignal.any([cli.signal, next.signal]));
        await Promise.race([changed, stopped]);
      }
    } finally {
      watch.close();
    }
  },
});

/** @param signal aborted by the next change */
async function keepEqual(cli: Cli, folder: string, options: Options, signal: AbortSignal): Promise<void> {
  try {
    // An apply is finished before the next one begins, so that they cannot overtake each other.
    const read = await readFolder(folder);
    sayMisnamed(cli, read);
    const { plan } = await sendFolder(cli, read, { set: options.set });
    sayWarnings(cli, plan);
    await showPlan(cli, plan);
    if (options.run !== undefined) await runAndFollow(cli, folder, options.run, signal);
  } catch (error) {
    // No change of the folder mends a session.
    if (failureOf(error).exitCode === EXIT.logIn) throw error;
    if (!cli.signal.aborted) report(cli.surroundings, error);
  }
}

async function showPlan(cli: Cli, plan: readonly PlanItem[]): Promise<void> {
  const changes = plan.filter(({ action }) => action === 'create' || action === 'update');
  for (const item of changes) {
    const { action, kind, name, changes: fields } = item;
    const what = fields.length === 0 ? '' : `: ${fields.join(', ')}`;
    await cli.out.event(item, () => oneLine(`${SIGNS[action]} ${kind} ${name}${what}`));
  }
  const kept = plan.filter(({ action }) => action === 'keep').map(({ kind, name }) => `${kind} ${name}`);
  cli.say(`${changes.length} changed, ${plan.length - changes.length - kept.length} unchanged.`);
  if (kept.length > 0) cli.say(`Not in the folder any more: ${kept.join(', ')}. See cadenza apply --prune.`);
}

async function runAndFollow(cli: Cli, folder: string, workflow: string, signal: AbortSignal): Promise<void> {
  const input = join(folder, 'input.yaml');
  const run = await startRun(cli, workflow, { file: existsSync(input) ? input : undefined });
  cli.say(`Run ${run.id}`);
  await printEvents(cli, run.id, { signal });
  if (!signal.aborted)
    sayEnd(cli, await cli.client.call('getRun', { path: { id: run.id }, signal: cli.signal }));
  else if (!cli.signal.aborted) cli.say(`The folder has changed; run ${run.id} goes on.`);
}
