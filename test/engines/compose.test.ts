/** docker-compose.yml as `docker compose` reads it, by the library that it is made of. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect } from '@jest/globals';
import { parse } from 'yaml';
import { settingNames } from '../../config/env.ts';
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

testWithReader(
  'Compose gives the programs the file .env, and its own values where it has others',
  async () => {
    const settings = Object.fromEntries(settingNames.map((name) => [name, `${name}-of-the-file`]));
    const lines = Object.entries({
      ...settings,
      POSTGRES_PASSWORD: 'secret',
      GRAFANA_ADMIN_PASSWORD: 'secret',
    });
    writeFileSync(join(folder, '.env'), lines.map(([name, value]) => `${name}=${value}`).join('\n'));
    writeFileSync(join(folder, 'docker-compose.yml'), text);
    const program = 'program' in found ? found.program : '';
    const { stdout } = await promisify(execFile)(program, ['-format', 'json', 'docker-compose.yml'], {
      cwd: folder,
      maxBuffer: 16 * 1024 * 1024,
    });
    const { services } = JSON.parse(stdout) as {
      services: Record<string, { env_file?: unknown; environment: Record<string, string> }>;
    };
    for (const name of ['api', 'worker', 'migrate', 'sandbox-worker']) {
      expect(services[name]).toMatchObject({
        env_file: [{ path: join(folder, '.env'), required: false }],
        environment: {
          DATABASE_URL: 'postgres://cadenza:secret@postgres:5432/cadenza',
          ENCRYPTION_KEYS: 'ENCRYPTION_KEYS-of-the-file',
          EGRESS_DENY: expect.stringMatching(/,EGRESS_DENY-of-the-file$/),
        },
      });
    }
    expect(services['engine-guard']).not.toHaveProperty('env_file');
    const tokens = ['api', 'worker', 'sandbox-worker'].map(
      (name) => services[name]?.environment['SANDBOX_TOKEN'],
    );
    expect(tokens).toEqual(['', '', 'SANDBOX_TOKEN-of-the-file']);
  },
);

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
