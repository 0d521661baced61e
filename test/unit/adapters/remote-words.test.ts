/** The words of a remote agent are redacted before they are shortened to a title or a message. */
import { TaskState, type Task } from '@a2a-js/sdk';
import { expect, test } from '@jest/globals';

import { questionOf } from '../../../adapters/a2a/question.ts';
import { remoteFault, stateFault } from '../../../adapters/a2a/remote-faults.ts';
import { createSensitive } from '../../../adapters/secrets/sensitive.ts';
import { text } from '../../../adapters/a2a/part-values.ts';

const secret = 'sk-live-9f8e7d6c5b4a';
const sensitive = createSensitive(new Map([['KEY', secret]]));

function taskWithMessage(words: string, state: TaskState): Task {
  const message = {
    messageId: 'm',
    contextId: 'c',
    taskId: 't',
    role: 2,
    parts: [text(words)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return {
    id: 't',
    contextId: 'c',
    status: { state, message, timestamp: undefined },
    artifacts: [],
    history: [],
    metadata: undefined,
  };
}

test.each([180, 185, 190, 195])(
  'the title of a question hides a secret that the limit would cut (after %i characters)',
  async (length) => {
    const { title } = await questionOf(
      taskWithMessage(`${'x'.repeat(length)}${secret}`, TaskState.TASK_STATE_INPUT_REQUIRED),
      'remote',
      sensitive,
    );
    expect(title).not.toContain(secret.slice(0, 4));
    expect(title.length).toBeLessThanOrEqual(200);
  },
);

test.each([980, 990, 995])(
  'the message of a failure hides a secret that the limit would cut (after %i characters)',
  (length) => {
    const words = `${'x'.repeat(length)}${secret}`;
    const failed = stateFault(taskWithMessage(words, TaskState.TASK_STATE_FAILED), 'remote', sensitive);
    for (const detail of [failed?.message, remoteFault(new Error(words), 'remote', sensitive).message]) {
      expect(detail).toContain('xxx');
      expect(detail).not.toContain(secret.slice(0, 4));
    }
  },
);
