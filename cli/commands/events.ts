/** The tail of everything that the user may see. */
import { ApiError } from '../../client/index.ts';
import { command } from '../core/command.ts';
import { CliError, EXIT } from '../core/errors.ts';
import { flag, text } from '../core/flags.ts';
import { workflowId } from '../core/names.ts';
import { oneLine } from '../core/text.ts';

export const eventsCommand = command({
  brief: 'Print events as they happen, until Ctrl-C',
  isStream: true,
  flags: {
    types: text('Event types, separated by commas, such as io.cadenza.hitl or *.faulted.v1', 'TYPES'),
    run: text('Events of this run', 'RUN'),
    workflow: text('Events of runs of this workflow', 'WORKFLOW'),
    mine: flag('Only of your own runs and tasks, for admins who see all others too'),
  },
  run: async (cli, { types, run, workflow, mine }) => {
    await cli.requireLogIn();
    const query = {
      types,
      run_id: run,
      workflow_id: workflow === undefined ? undefined : await workflowId(cli, workflow),
      mine: mine === true ? true : undefined,
    };
    let wasOpen = false;
    const onState = (state: 'open' | 'reconnecting'): void => {
      wasOpen ||= state === 'open';
      if (state === 'reconnecting') cli.say('The connection is lost; trying again …');
    };
    try {
      for await (const { data } of cli.client.events('streamEvents', { query, signal: cli.signal, onState }))
        await cli.out.event(data, () =>
          oneLine(
            [data.time?.slice(11, 19), data.type, data.subject]
              .filter((part) => part !== undefined)
              .join('  '),
          ),
        );
    } catch (error) {
      throw wasOpen && error instanceof ApiError && error.status === 401 ? sessionOver() : error;
    }
  },
});

/** Of a stream that was open: the account was disabled, or what it was opened with has ended. */
const sessionOver = (): CliError =>
  new CliError('Your session has ended.', { code: 'session_over', exitCode: EXIT.logIn });
