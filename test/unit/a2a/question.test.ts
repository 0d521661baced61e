import { expect, test } from '@jest/globals';

import { questionOf, type AskedTask } from '../../../contracts/a2a/question.ts';

const asked: AskedTask = {
  id: 't',
  task_name: 'review',
  title: 'May I?',
  description: 'It costs 7.',
  subject: { amount: 7 },
  form_schema: null,
  decisions: ['approve', 'reject'].map((id) => ({ id, label: id, requires_comment: false })),
  expires_at: null,
};
const message = { id: 'm', task_id: 'r', context_id: 'c' };
const textOf = (task: AskedTask): unknown => questionOf(message, [task]).parts[0]?.text;

test('a question has a text and a request for each human task', () => {
  const { task_name: name, ...shown } = asked;
  expect(questionOf(message, [asked, { ...asked, id: 'u' }])).toEqual({
    messageId: 'm',
    contextId: 'c',
    taskId: 'r',
    role: 'ROLE_AGENT',
    parts: ['t', 'u'].flatMap((id) => [
      { mediaType: 'text/plain', text: 'May I?\nIt costs 7.\nDecisions: approve, reject.' },
      { mediaType: 'application/json', data: { type: 'hitl_request', ...shown, id, name } },
    ]),
  });
});

test('the text leaves out what a task does not have', () => {
  expect(textOf({ ...asked, description: null })).toBe('May I?\nDecisions: approve, reject.');
  expect(textOf({ ...asked, description: '', decisions: [] })).toBe('May I?');
});
