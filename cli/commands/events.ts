/** The tail of everything that the user may see. */
import { command } from '../core/command.ts';
import { text } from '../core/flags.ts';
import { oneLine } from '../core/text.ts';

export const eventsCommand = command({
  brief: 'Print events as they happen, until Ctrl-C',
  flags: {
    types: text('Event types, separated by commas, such as io.cadenza.hitl or *.faulted.v1', 'TYPES'),
  },
  run: async (cli, { types }) => {
    await cli.requireLogIn();
    const onState = (state: 'open' | 'reconnecting'): void => {
      if (state === 'reconnecting') cli.say('The connection is lost; trying again …');
    };
    for await (const { data } of cli.client.events('streamEvents', {
      query: { types },
      signal: cli.signal,
      onState,
    }))
      await cli.out.event(data, () =>
        oneLine(
          [data.time?.slice(11, 19), data.type, data.subject].filter((part) => part !== undefined).join('  '),
        ),
      );
  },
});
