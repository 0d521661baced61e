/** The official Python clients, each in its own version, against the same URL. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { conformanceAgents, conformanceDefinition } from '../../conformance/a2a/agents.ts';
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { pythonWithA2A } from '../../support/python-client.ts';

const script = join(import.meta.dirname, '../../conformance/a2a/python_client.py');
const versions = ['1.3.0', '0.3.26'];
const environments = await Promise.all(versions.map(async (version) => ({ version, ...(await pythonWithA2A(version)) })));

let platform: TestPlatform;
let agent: string;
beforeAll(async () => {
  platform = await startTestPlatform();
  const builder = await platform.as('builder');
  const workflow = await builder.post('/workflows', { name: 'conformance', definition: conformanceDefinition });
  const [full] = conformanceAgents(workflow.body.id);
  const made = await builder.post('/agents', full!.body);
  agent = `${platform.url}/api/v1/a2a/${made.body.id}`;
});
afterAll(() => platform.close());

const available = environments.flatMap((environment) => ('skipped' in environment ? [] : [environment]));
for (const environment of environments) if ('skipped' in environment) console.warn(`a2a-sdk ${environment.version} skipped: ${environment.skipped}`);

test.each(available)('a2a-sdk $version sends, streams and gets', async ({ version, python }) => {
  const { token } = await platform.user('builder');
  const { stdout } = await promisify(execFile)(python, [script], { env: { ...process.env, A2A_AGENT: agent, A2A_TOKEN: token }, timeout: 60_000 });
  const said = JSON.parse(stdout);
  expect(said).toMatchObject({ version, text: 'Hello from TCK' });
  expect(said.state.toLowerCase()).toContain('completed');
  expect(said.streamed.length).toBeGreaterThanOrEqual(3);
}, 90_000);

test('every version that can be had was run', () => {
  expect(available.length + environments.filter((environment) => 'skipped' in environment).length).toBe(versions.length);
});
