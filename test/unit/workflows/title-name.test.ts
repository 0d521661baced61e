import { expect, test } from '@jest/globals';
import type { Execution } from '../../../workflows/interpreter/execution.ts';
import { titleName } from '../../../workflows/interpreter/functions/chat.ts';

const run = (workflowId: string | null): Execution =>
  // Only the start counts.
  ({ start: { name: 'clerk', workflow_id: workflowId } }) as unknown as Execution;

test.each<[string, Execution, string, string, string]>([
  ['the agent of a call of it', run(null), '/do/0/invoke', 'invoke', 'clerk'],
  ['the task of a workflow', run('w'), '/do/0/invoke', 'invoke', 'invoke'],
  ['a tool of a called agent', run(null), '/do/0/invoke/tools/helper', 'helper', 'helper'],
])('a question has the name of %s in its title', (_case, execution, ref, name, expected) => {
  expect(titleName(execution, { ref, name })).toBe(expected);
});
