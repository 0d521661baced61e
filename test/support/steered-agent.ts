/** An A2A agent that does what the first message says: one workflow for every situation of a client. */
import type { Client } from './app.ts';
import { humanTask } from './definitions.ts';
import { workflowAgentPath } from './workflow-agent.ts';

const says = (word: string, then: string) => ({ [word]: { when: `.text == "${word}"`, then } });

const steeredDefinition = {
  do: [
    {
      choose: {
        switch: [
          says('wait', 'wait'),
          says('quiet', 'quiet'),
          says('ask', 'ask'),
          { files: { when: '(.files | length) > 0', then: 'back' } },
          { else: { then: 'hello' } },
        ],
      },
    },
    { hello: { set: { text: '${ "Hello " + .text }' }, then: 'end' } },
    { wait: { wait: { minutes: 10 }, then: 'end' } },
    // Longer than the 5 s after which a default Python client drops a silent stream.
    { quiet: { wait: { seconds: 7 }, then: 'end' } },
    { ask: humanTask('Go on?') },
    { asked: { set: { text: '${ "You said " + .decision }' }, then: 'end' } },
    { back: { set: { files: '${ .files }' }, then: 'end' } },
  ],
};

/** @returns the path of its A2A endpoint. */
export async function createSteeredAgent(
  builder: Client,
  more: Record<string, unknown> = {},
): Promise<string> {
  const modalities = ['text', 'data', 'file'];
  return workflowAgentPath(builder, steeredDefinition, { name: 'Steered', modalities, ...more });
}
