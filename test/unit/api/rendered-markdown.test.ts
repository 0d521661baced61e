/** Markdown of agents: rendered beside the event loop, within limits. */
import { expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { renderedMarkdown } from '../../../api/routes/agent-docs/rendered.ts';
import { threadClock } from '../../support/machine.ts';

const LENGTH = 65_536;
const full = (unit: string): string => unit.repeat(LENGTH / unit.length);

test('Markdown becomes HTML, once for each text', async () => {
  const html = await renderedMarkdown('ann', '# Title\n\nhttps://ok.example');
  expect(html).toContain('<h1>Title</h1>');
  expect(html).toContain('rel="nofollow noopener noreferrer"');
  expect(await renderedMarkdown('bob', '# Title\n\nhttps://ok.example')).toBe(html);
});

test('the worst texts of the allowed length do not keep the event loop', async () => {
  for (const text of [full('!['), full('http://a:')]) {
    const spentMs = threadClock();
    expect((await renderedMarkdown('ann', text))?.length).toBeGreaterThan(LENGTH / 2);
    expect(spentMs()).toBeLessThan(500);
  }
});

test('longer texts are not rendered, and neither are those that become very long', async () => {
  expect(await renderedMarkdown('ann', 'a'.repeat(LENGTH))).toContain('<p>aaa');
  expect(await renderedMarkdown('ann', 'a'.repeat(LENGTH + 1))).toBeNull();
  expect(await renderedMarkdown('ann', '\u{1F600}'.repeat(LENGTH))).toContain('<p>');
  const references = `[a]: ${'b'.repeat(20_000)}\n\n${'[a]'.repeat(10_000)}`;
  expect(await renderedMarkdown('ann', references)).toBeNull();
});

test('a user may have four texts waiting, and others are not kept from theirs', async () => {
  const texts = Array.from({ length: 5 }, () => `# ${uuidv7()}`);
  const answers = await Promise.allSettled(texts.map((text) => renderedMarkdown('greedy', text)));
  expect(answers.map(({ status }) => status)).toEqual([...Array(4).fill('fulfilled'), 'rejected']);
  expect(answers.at(-1)).toMatchObject({ reason: { kind: 'unavailable', code: 'busy' } });
  const waiting = texts.slice(0, 4).map((text) => renderedMarkdown('greedy', `${text}!`));
  expect(await renderedMarkdown('ann', `# ${uuidv7()}`)).toContain('<h1>');
  await Promise.all(waiting);
});
