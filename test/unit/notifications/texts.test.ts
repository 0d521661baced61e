import { expect, test } from '@jest/globals';
import { mentionsIn } from '../../../domain/hitl/mentions.ts';
import { checkTemplate, defaultTemplates, renderMail } from '../../../domain/notifications/templates.ts';

test('mentions are names after an @ that belongs to no address', () => {
  expect(mentionsIn('@Ann and (@bob.b). @ann again, mail@carl.example, x@@dora')).toEqual(['ann', 'bob.b']);
  expect(mentionsIn(Array.from({ length: 30 }, (_, i) => `@p${i}`).join(' '))).toHaveLength(20);
});

test('values are escaped in HTML, and lines without a value are left out', () => {
  const template = { subject: '{{title}}', text: 'A\n{{due}}\n{{title}}', html: '<p>{{title}}</p>' };
  expect(renderMail(template, { title: 'a<b\r\nBcc: {{due}} x' })).toEqual({
    subject: 'a<b Bcc: {{due}} x',
    text: 'A\na<b\r\nBcc: {{due}} x',
    html: '<p>a&lt;b\r\nBcc: {{due}} x</p>',
  });
});

test('templates name only what there is', () => {
  for (const template of Object.values(defaultTemplates()))
    for (const part of Object.values(template)) expect(() => checkTemplate(part)).not.toThrow();
  expect(() => checkTemplate('Hello {{password}}')).toThrow('{{password}} is not one of');
});
