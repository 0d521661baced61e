import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { misspeltSettings, parseEnv, settingNames, type Env } from '../../../config/env.ts';

const key = Buffer.alloc(32, 7).toString('base64');

function read(source: Record<string, string>): Env {
  const result = parseEnv(source);
  if (!('env' in result)) throw new Error(JSON.stringify(result.problems));
  return result.env;
}

function problemsOf(source: Record<string, string>): Record<string, string> {
  const result = parseEnv(source);
  return 'problems' in result
    ? Object.fromEntries(result.problems.map(({ name, message }) => [name, message]))
    : {};
}

describe('settings', () => {
  test('DATA_DIR and FILES_DIR are refused where no file can be written', () => {
    const message = 'no files can be kept in /proc or /sys';
    expect(problemsOf({ DATA_DIR: '/proc/x', FILES_DIR: '/var/../sys' })).toEqual({
      DATA_DIR: message,
      FILES_DIR: message,
    });
    expect(problemsOf({ DATA_DIR: '/processed', FILES_DIR: './proc' })).toEqual({});
  });

  test('.env.example names every setting once, and no other', () => {
    const [example = ''] = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8').split(
      '# --- docker compose only',
    );
    const named = [...example.matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map((match) => match[1]);
    expect(named.toSorted()).toEqual(settingNames.toSorted());
  });

  test('.env.example says the bounds of each number that has them, but for ports', () => {
    const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
    // A comment, and the settings that it is about.
    const blocks = [
      ...example.matchAll(/((?:^# (?![A-Z][A-Z0-9_]+=).*\n)+)((?:^# [A-Z][A-Z0-9_]+=.*\n)+)/gm),
    ];
    const comments = new Map(
      blocks.flatMap(([, comment = '', settings = '']) =>
        [...settings.matchAll(/^# ([A-Z0-9_]+)=/gm)].map(([, name = '']) => [name, comment] as const),
      ),
    );
    const bounded = settingNames.flatMap((name) => {
      const [, , most] = /from (\S+) to ([\d.]+)/.exec(problemsOf({ [name]: '-1e15' })[name] ?? '') ?? [];
      return most === undefined || name.endsWith('PORT') || Number(most) >= 1e9 ? [] : [{ name, most }];
    });
    expect(bounded.length).toBeGreaterThan(40);
    for (const { name, most } of bounded)
      expect([name, comments.get(name)]).toEqual([name, expect.stringMatching(`\\b${most}\\b`)]);
  });

  test('the values in .env.example are valid, and the defaults shown there are the real ones', () => {
    const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
    const shown = Object.fromEntries(
      [...example.matchAll(/^# ([A-Z][A-Z0-9_]+)=(.+)$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']),
    );
    expect(problemsOf(shown)).toEqual({});
    const defaults = read({});
    const env = read(shown);
    for (const name of [
      'PORT',
      'HOST',
      'DATA_DIR',
      'LOG_LEVEL',
      'TEMPORAL_NAMESPACE',
      'TEMPORAL_TASK_QUEUE',
      'ADMIN_USERNAME',
      'PUBLIC_AGENT_CARDS',
      'TRUST_PROXY',
      'RETENTION_DAYS',
    ] as const) {
      expect([name, env[name]]).toEqual([name, defaults[name]]);
    }
  });

  test('what a setting may be is said in plain words', () => {
    const wrong = { NODE_ENV: 'prod', SMTP_TLS: 'ssl', SANDBOX_CPUS: 'many', RETENTION_DAYS: '0' };
    expect(problemsOf(wrong)).toEqual({
      NODE_ENV: 'must be development, production or test',
      SMTP_TLS: 'must be starttls, implicit or none',
      SANDBOX_CPUS: 'must be a number from 0.1 to 256',
      RETENTION_DAYS: 'must be a whole number from 1 to 36500, but is 0',
    });
  });

  test('EGRESS_ALLOW takes names, addresses and networks', () => {
    for (const wrong of [
      '10.0.0.0/99',
      '127.0.0.300',
      '10.0.0.0/',
      'example.com/8',
      '::1/129',
      'a b',
      '*.',
      'http://example.com',
    ]) {
      expect([wrong, problemsOf({ EGRESS_ALLOW: `127.0.0.0/8,${wrong}` })]).toEqual([
        wrong,
        { EGRESS_ALLOW: expect.stringContaining('networks such as 10.0.0.0/8') },
      ]);
    }
    expect(
      read({ EGRESS_ALLOW: '127.0.0.0/8, ::1/128,[::1],10.1.2.3,localhost,*.example.com,my_host' })
        .EGRESS_ALLOW,
    ).toHaveLength(7);
  });

  test('every setting is optional, and the base URL follows host and port', () => {
    expect(read({})).toMatchObject({
      PORT: 3000,
      BASE_URL: 'http://127.0.0.1:3000',
      DATA_DIR: '.cadenza',
      ENCRYPTION_KEYS: [],
    });
    expect(read({ HOST: '0.0.0.0', PORT: '8080' }).BASE_URL).toBe('http://localhost:8080');
    expect(read({ HOST: '::1', PORT: '8080' }).BASE_URL).toBe('http://[::1]:8080');
    expect(read({ BASE_URL: 'https://cadenza.example.com/base/' }).BASE_URL).toBe(
      'https://cadenza.example.com/base',
    );
  });

  test('an empty variable counts as unset', () => {
    expect(read({ PORT: '', ADMIN_PASSWORD: ' ' })).toMatchObject({ PORT: 3000 });
  });

  test('lists, switches, keys and maps are parsed', () => {
    const env = read({
      CORS_ORIGINS: 'https://a.example, https://b.example',
      TRUST_PROXY: 'true',
      PUBLIC_AGENT_CARDS: '1',
      ENCRYPTION_KEYS: `new:${key},old:${key}`,
      EGRESS_HOST_MAP: 'https://api.example.com=http://127.0.0.1:9000/',
      OIDC_SECOND_FACTOR: '/assurance/level = gold=2',
    });
    expect(env.CORS_ORIGINS).toEqual(['https://a.example', 'https://b.example']);
    expect(env.TRUST_PROXY).toBe(1);
    expect(env.OIDC_SECOND_FACTOR).toEqual({ claim: '/assurance/level', value: 'gold=2' });
    expect(env.PUBLIC_AGENT_CARDS).toBe(true);
    expect(env.ENCRYPTION_KEYS.map(({ id, key: bytes }) => [id, bytes.length])).toEqual([
      ['new', 32],
      ['old', 32],
    ]);
    expect(env.EGRESS_HOST_MAP).toEqual([{ from: 'https://api.example.com', to: 'http://127.0.0.1:9000' }]);
  });

  test('all problems are reported at once, and no message repeats a value', () => {
    const problems = problemsOf({
      PORT: '70000',
      DATABASE_URL: 'mysql://root:hunter2@db/x',
      TEMPORAL_ADDRESS: 'http://t:7233',
      ADMIN_PASSWORD: 'short',
      ENCRYPTION_KEYS: 'a:c2hvcnQ=',
      LOG_LEVEL: 'loud',
      TRUST_PROXY: 'maybe',
      EGRESS_HOST_MAP: 'a=b',
      CORS_ORIGINS: '*',
      RETENTION_DAYS: '0',
      TEMPORAL_TLS_CERT: '/cert.pem',
      OIDC_ISSUER: 'https://id.example',
      OIDC_DEFAULT_ROLES: 'king',
      OIDC_SECOND_FACTOR: 'gold',
      BASE_URL: 'ftp://x',
    });
    expect(Object.keys(problems).toSorted()).toEqual([
      'ADMIN_PASSWORD',
      'BASE_URL',
      'CORS_ORIGINS',
      'DATABASE_URL',
      'EGRESS_HOST_MAP',
      'ENCRYPTION_KEYS',
      'LOG_LEVEL',
      'OIDC_CLIENT_ID',
      'OIDC_DEFAULT_ROLES',
      'OIDC_SECOND_FACTOR',
      'PORT',
      'RETENTION_DAYS',
      'TEMPORAL_ADDRESS',
      'TEMPORAL_TLS_KEY',
      'TRUST_PROXY',
    ]);
    expect(problems['OIDC_CLIENT_ID']).toContain('is required with OIDC_ISSUER');
    expect(JSON.stringify(problems)).not.toMatch(/hunter2|c2hvcnQ/);
  });

  test('the settings for S3 need a valid bucket and both parts of the credentials', () => {
    expect(
      Object.keys(
        problemsOf({ FILES_S3_ENDPOINT: 'https://s3.example', FILES_S3_ACCESS_KEY_ID: 'id' }),
      ).toSorted(),
    ).toEqual(['FILES_S3_BUCKET', 'FILES_S3_SECRET_ACCESS_KEY']);
    expect(problemsOf({ FILES_S3_BUCKET: 'b1', FILES_S3_PREFIX: 'a b/' })).toEqual({
      FILES_S3_BUCKET: expect.any(String),
      FILES_S3_PREFIX: expect.any(String),
    });
    expect(
      problemsOf({
        FILES_S3_BUCKET: 'files',
        FILES_S3_ENDPOINT: 'http://localhost:9000/',
        FILES_S3_PATH_STYLE: 'true',
      }),
    ).toEqual({});
  });

  test.each([['1e3'], ['-1'], ['3000.5'], ['0x10'], ['abc']])('PORT=%s is refused', (value) => {
    expect(problemsOf({ PORT: value })).toHaveProperty('PORT');
  });

  test('a process with bad settings prints all problems and exits with status 2', () => {
    const program = "import { loadServerEnv } from './env.ts'; loadServerEnv();";
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: new URL('../../../config', import.meta.url),
      encoding: 'utf8',
      env: { PATH: '' },
    });
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(
      /DATABASE_URL is required[^]*TEMPORAL_ADDRESS is required[^]*ENCRYPTION_KEYS is required/,
    );
  });

  test('a file .env in the working directory supplies settings that are unset', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cadenza-env-'));
    writeFileSync(join(folder, '.env'), 'PORT=4001\nHOST=0.0.0.0\n');
    const envModule = new URL('../../../config/env.ts', import.meta.url).href;
    const program =
      `import { loadEnv } from '${envModule}'; const { PORT, HOST } = loadEnv(); ` +
      'process.stdout.write(HOST + PORT)';
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: folder,
      encoding: 'utf8',
      env: { HOST: '127.0.0.2' },
    });
    rmSync(folder, { recursive: true });
    expect(run.stdout).toBe('127.0.0.24001');
  });
});

test('names in a file of settings that are nearly those of settings are told, and no others', () => {
  const text = 'LOG_LEVL=debug\nSMTP_FORM=x\nPORT=1\nMY_OWN=1\n# LOG_LEVEK=x\n';
  expect(misspeltSettings(text)).toEqual([
    '.env: LOG_LEVL is not a setting: did you mean LOG_LEVEL?',
    '.env: SMTP_FORM is not a setting: did you mean SMTP_FROM?',
  ]);
  const slips = { PROT: 'PORT', HOSTT: 'HOST', TEMPROAL_ADRESS: 'TEMPORAL_ADDRESS', SMPT_PORT: 'SMTP_PORT' };
  for (const [slip, meant] of Object.entries(slips))
    expect(misspeltSettings(`${slip}=x`)).toEqual([`.env: ${slip} is not a setting: did you mean ${meant}?`]);
  // Words of their own, as other programs name theirs.
  const others = ['PGHOST', 'PGPORT', 'HTTP_PORT', 'HOME', 'TEST', 'SSH_PORT', 'NODE_PORT', 'LOG_LEVELS_ALL'];
  expect(misspeltSettings(others.map((name) => `${name}=x`).join('\n'))).toEqual([]);
  // Compose reads the same file, and has settings of its own.
  const files = ['.env.example', 'docker-compose.yml'].map((name) =>
    readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8'),
  );
  const names = new Set(files.join('\n').match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g));
  expect(names.size).toBeGreaterThan(150);
  expect(misspeltSettings([...names].map((name) => `${name}=x`).join('\n'))).toEqual([]);
});

test('a copy that is restored for a rehearsal can be kept from everything', () => {
  const parsed = parseEnv({ EGRESS_DENY: '0.0.0.0/0,::/0', SMTP_HOST: '' });
  expect(parsed).toMatchObject({ env: { EGRESS_DENY: [expect.anything(), expect.anything()] } });
  expect('env' in parsed && parsed.env.SMTP_HOST).toBeUndefined();
});
