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
const environments = [];
for (const version of versions) environments.push({ version, ...(await pythonWithA2A(version)) });

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

for (const environment of environments) {
  const name = `a2a-sdk ${environment.version} sends, streams and gets`;
  if ('skipped' in environment) {
    test.skip(`${name}; skipped: ${environment.skipped}`, () => {});
  } else {
    test(name, async () => {
      const { token } = await platform.user('builder');
      const { stdout } = await promisify(execFile)(environment.python, [script], { env: { ...process.env, A2A_AGENT: agent, A2A_TOKEN: token }, timeout: 60_000 });
      const said = JSON.parse(stdout);
      expect(said).toMatchObject({ version: environment.version, text: 'Hello from TCK' });
      expect(said.state.toLowerCase()).toContain('completed');
      expect(said.streamed.length).toBeGreaterThanOrEqual(3);
    }, 90_000);
  }
}
