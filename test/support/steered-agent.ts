/** An A2A agent that does what the first message says: one workflow for everything that a client can meet. */
import { expect } from '@jest/globals';
import type { Client } from './app.ts';

const says = (word: string, then: string) => ({ [word]: { when: `.text == "${word}"`, then } });

export const steeredDefinition = {
  do: [
    { choose: { switch: [says('wait', 'wait'), says('quiet', 'quiet'), says('ask', 'ask'), { files: { when: '(.files | length) > 0', then: 'back' } }, { else: { then: 'hello' } }] } },
    { hello: { set: { text: '${ "Hello " + .text }' }, then: 'end' } },
    { wait: { wait: { minutes: 10 }, then: 'end' } },
    // Longer than the 5 s after which a default Python client drops a silent stream.
    { quiet: { wait: { seconds: 7 }, then: 'end' } },
    { ask: { call: 'human', with: { title: 'Go on?' } } },
    { asked: { set: { text: '${ "You said " + .decision }' }, then: 'end' } },
    { back: { set: { files: '${ .files }' }, then: 'end' } },
  ],
};

/** @returns the path of its A2A endpoint. */
export async function createSteeredAgent(builder: Client, more: Record<string, unknown> = {}): Promise<string> {
  const workflow = await builder.post('/workflows', { name: 'steered', definition: steeredDefinition });
  expect(workflow.body.problems).toEqual([]);
  const agent = await builder.post('/agents', {
    name: 'Steered', type: 'workflow', version: '1.0.0', visibility: 'private', configuration: { workflow_id: workflow.body.id },
    modalities: ['text', 'data', 'file'], capabilities_streaming: true, capabilities_push: true, ...more,
  });
  expect(agent.status).toBe(201);
  return `/api/v1/a2a/${agent.body.id}`;
}
