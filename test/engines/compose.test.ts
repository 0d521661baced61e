/** docker-compose.yml as `docker compose` reads it, by the library that it is made of. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect } from '@jest/globals';
import { parse } from 'yaml';
import { goProgram } from '../support/go-program.ts';
import { testUnless } from '../support/outside.ts';

const root = join(import.meta.dirname, '../..');
const path = join(root, 'docker-compose.yml');
const text = readFileSync(path, 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'cadenza-compose-'));
const found = await goProgram({
  name: 'compose-go',
  module: 'github.com/compose-spec/compose-go/v2',
  main: 'cmd',
  version: 'v2.16.2',
});
const testWithReader = testUnless('missing' in found ? found.missing : undefined);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * What Compose makes of the file. This program does not read settings; `test/unit/docker` compares those of
 * the file with ours. @throws with Compose's complaint
 */
async function read(file: string): Promise<{ services: Record<string, unknown>; volumes: object }> {
  const program = 'program' in found ? found.program : '';
  const args = ['-no-interpolation', '-format', 'json', file];
  const { stdout } = await promisify(execFile)(program, args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout);
}

testWithReader('Compose finds every service and volume of the file', async () => {
  const ours = parse(text, { merge: true });
  const { services, volumes } = await read(path);
  expect(Object.keys(services).toSorted()).toEqual(Object.keys(ours.services).toSorted());
  expect(Object.keys(volumes).toSorted()).toEqual(Object.keys(ours.volumes).toSorted());
  expect(services['worker']).toMatchObject({ depends_on: { migrate: { required: true } } });
});

testWithReader('Compose gives the programs the file .env, and the guard none', async () => {
  const { services } = await read(path);
  for (const name of ['api', 'worker', 'migrate', 'sandbox-worker'])
    expect(services[name]).toMatchObject({
      env_file: [{ path: join(root, '.env'), required: false }],
      environment: {
        DATABASE_URL: 'postgres://cadenza:${POSTGRES_PASSWORD:?set it in .env}@postgres:5432/cadenza',
        SANDBOX_TOKEN: name === 'sandbox-worker' ? '${SANDBOX_TOKEN:-}' : '',
      },
    });
  expect(services['engine-guard']).not.toHaveProperty('env_file');
});

testWithReader('Compose finds a mistake', async () => {
  const mistakes = {
    'a condition that there is not': text.replace('condition: service_healthy', 'condition: service_healty'),
    'an unknown field': text.replace('restart: unless-stopped', 'restarts: unless-stopped'),
  };
  for (const [mistake, changed] of Object.entries(mistakes)) {
    const file = join(folder, 'docker-compose.yml');
    writeFileSync(file, changed);
    const complaint = await read(file).then(
      () => null,
      (error: unknown) => String(error),
    );
    expect({ mistake, complaint }).toMatchObject({
      complaint: expect.stringMatching(/condition value must be|restarts/),
    });
  }
});
