/** docker-compose.yml and Dockerfile, as far as they can be checked where no container engine runs. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parseEnv, settingNames } from '../../../config/env.ts';
import { SEARCH_ATTRIBUTES } from '../../../contracts/temporal.ts';

type Service = {
  image: string;
  command?: string[];
  entrypoint?: string[];
  env_file?: { path: string; required: boolean }[];
  environment?: Record<string, string | number>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  ports?: string[];
  volumes?: string[];
};

const root = join(import.meta.dirname, '../../..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const text = read('docker-compose.yml');
const { services, volumes } = parse(text, { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};
const all = Object.entries(services);
const endingServices = ['temporal-schema', 'temporal-namespace', 'migrate'];
/** What `.env` must have. */
const required: Record<string, string> = {
  POSTGRES_PASSWORD: 'secret',
  FILES_S3_SECRET_ACCESS_KEY: 'secret',
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  ADMIN_PASSWORD: 'a long password',
  METRICS_TOKEN: 'm'.repeat(32),
  TEMPORAL_UI_CLIENT_SECRET: 'u'.repeat(32),
  SANDBOX_TOKEN: 's'.repeat(32),
};

/** The environment of a service's containers, with this `.env`: `environment` wins over `env_file`. */
function environmentOf(name: string, file: Record<string, string>): Record<string, string> {
  const { env_file: files = [], environment = {} } = services[name]!;
  const given = Object.entries(environment).map(([setting, value]) => [
    setting,
    String(value).replaceAll(
      /\$\{(\w+)(?::?[-?]([^}]*))?\}/g,
      (_match, variable: string, fallback = '') => file[variable] ?? String(fallback),
    ),
  ]);
  return { ...(files.some(({ path }) => path === '.env') ? file : {}), ...Object.fromEntries(given) };
}

describe('docker-compose.yml', () => {
  test('has every process of the platform', () => {
    expect(Object.keys(services).toSorted()).toEqual(
      [
        'api',
        'backups',
        'engine-guard',
        'grafana',
        'migrate',
        'object-storage',
        'postgres',
        'prometheus',
        'sandbox-worker',
        'temporal',
        'temporal-namespace',
        'temporal-schema',
        'temporal-ui',
        'worker',
      ].toSorted(),
    );
  });

  test.each(all.filter(([name]) => !endingServices.includes(name)))(
    '%s runs on, so it has a health check',
    (_name, { healthcheck }) => {
      expect(healthcheck?.test[0]).toMatch(/^CMD/);
    },
  );

  test.each(all)(
    '%s waits until services are healthy, or completed if they end',
    (_name, { depends_on = {} }) => {
      for (const [dependency, { condition }] of Object.entries(depends_on)) {
        expect(services).toHaveProperty(dependency);
        expect([dependency, condition]).toEqual([
          dependency,
          endingServices.includes(dependency) ? 'service_completed_successfully' : 'service_healthy',
        ]);
      }
    },
  );

  test.each(all)(
    '%s has a pinned image, and files and volumes that exist',
    (_name, { image, volumes: mounts = [] }) => {
      expect(image === 'cadenza' || /:v?\d+(\.\d+)*/.test(image)).toBe(true);
      for (const [source = ''] of mounts.map((mount) => mount.split(':'))) {
        expect([
          source,
          source.startsWith('./')
            ? existsSync(join(root, source))
            : source in volumes || source === '/var/run/docker.sock',
        ]).toEqual([source, true]);
      }
    },
  );

  test('publishes ports on the local machine only', () => {
    for (const port of all.flatMap(([, { ports = [] }]) => ports)) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test.each(['api', 'worker', 'migrate', 'backups', 'sandbox-worker', 'engine-guard'])(
    'gives %s only settings that are known and valid',
    (name) => {
      const { environment = {} } = services[name]!;
      expect(Object.keys(environment).filter((setting) => !settingNames.includes(setting))).toEqual([]);
      expect(parseEnv(environmentOf(name, required))).toHaveProperty('env');
    },
  );

  // What the file itself decides: addresses inside of its network, and what only some processes may have.
  const FIXED = [
    'A2A_GRPC_PORT',
    'DATABASE_URL',
    'HOST',
    'OPENID_BACKCHANNEL_URL',
    'PORT',
    'TEMPORAL_ADDRESS',
    'TEMPORAL_UI_CLIENT_ID',
  ];
  test.each([
    ['api', ['SANDBOX_TOKEN']],
    ['worker', ['SANDBOX_TOKEN', 'WORKER_METRICS_ADDRESS']],
    ['migrate', ['SANDBOX_TOKEN']],
    ['backups', ['SANDBOX_TOKEN', 'BACKUP_DIR', 'TEMPORAL_DATABASE_URLS']],
    ['sandbox-worker', ['SANDBOX_ENGINE', 'SANDBOX_GUARD_ADDRESS']],
  ])('gives %s every setting of .env, apart from addresses inside of the network', (name, fixed) => {
    const file = Object.fromEntries(settingNames.map((setting) => [setting, `${setting} of the file`]));
    const environment = environmentOf(name, file);
    const others = settingNames.filter((setting) => !environment[setting]?.includes(file[setting] ?? ''));
    expect(others.toSorted()).toEqual([...FIXED, ...fixed].toSorted());
  });

  test('starts without a file .env, as far as what it must have is in the environment', () => {
    for (const name of ['api', 'worker', 'migrate', 'sandbox-worker'])
      expect(services[name]?.env_file).toEqual([{ path: '.env', required: false }]);
  });

  test('gives the guard each setting that it reads', () => {
    const ofGuard = settingNames.filter(
      (setting) => /^SANDBOX_(?!TASK_QUEUE|CONCURRENCY|KEEP_HOURS)/.test(setting) || setting === 'LOG_LEVEL',
    );
    expect(Object.keys(services['engine-guard']?.environment ?? {}).toSorted()).toEqual(ofGuard.toSorted());
  });

  test('reads no variable that .env.example lacks', () => {
    const example = read('.env.example');
    for (const [, variable = ''] of text.matchAll(/\$\{(\w+)/g))
      expect(example).toMatch(new RegExp(`^# ${variable}=`, 'm'));
  });

  test('gives api and worker the same file store, and keeps its folder', () => {
    const [api, worker] = ['api', 'worker'].map((name) =>
      Object.entries(services[name]?.environment ?? {}).filter(([setting]) => setting.startsWith('FILES_')),
    );
    expect(api).toEqual(worker);
    expect(Object.fromEntries(api ?? [])).toMatchObject({
      FILES_S3_ENDPOINT: '${FILES_S3_ENDPOINT:-http://object-storage:7070}',
      FILES_S3_BUCKET: '${FILES_S3_BUCKET:-cadenza}',
    });
    expect(services['object-storage']?.volumes).toEqual(['object-storage:/data/cadenza']);
    expect(services['object-storage']?.command?.slice(-2)).toEqual(['posix', '/data']);
  });

  test('gives the socket of the engine to the guard alone, which has no other secret', () => {
    const mounting = all.filter(([, { volumes: mounts = [] }]) => mounts.join(' ').includes('docker.sock'));
    expect(mounting.map(([name]) => name)).toEqual(['engine-guard']);
    const { environment = {} } = services['engine-guard']!;
    expect(Object.keys(environment).filter((name) => !/^(?:SANDBOX_|LOG_LEVEL)/.test(name))).toEqual([]);
    expect(services['sandbox-worker']?.environment).toMatchObject({
      SANDBOX_ENGINE: 'http://engine-guard:2375',
    });
  });

  test("puts Temporal's web UI behind the log-in of the api, and decrypts by its user's token", () => {
    const { environment: ui = {}, ports } = services['temporal-ui']!;
    const { environment: api = {} } = services['api']!;
    const [port] = ports?.map((one) => one.split(':')[1]) ?? [];
    expect(ui).toMatchObject({
      TEMPORAL_AUTH_ENABLED: 'true',
      TEMPORAL_AUTH_PROVIDER_URL: api['OPENID_BACKCHANNEL_URL'],
      TEMPORAL_AUTH_ISSUER_URL: api['BASE_URL'],
      TEMPORAL_AUTH_CLIENT_SECRET: api['TEMPORAL_UI_CLIENT_SECRET'],
      TEMPORAL_AUTH_CALLBACK_URL: `${api['TEMPORAL_UI_URL']}/auth/sso/callback`,
      TEMPORAL_CODEC_ENDPOINT: `${api['BASE_URL']}/temporal-codec`,
      TEMPORAL_CODEC_PASS_ACCESS_TOKEN: 'true',
      TEMPORAL_DISABLE_WRITE_ACTIONS: 'true',
    });
    expect(api['TEMPORAL_UI_URL']).toContain(`localhost:${port}`);
    expect(parseEnv({}).valueOf()).toMatchObject({
      env: { TEMPORAL_UI_CLIENT_ID: ui['TEMPORAL_AUTH_CLIENT_ID'] },
    });
    expect(text).not.toContain('TEMPORAL_CODEC_TOKEN');
  });

  test('has connections for Temporal and two copies of each program', () => {
    const most = Number(/max_connections=\$\{POSTGRES_MAX_CONNECTIONS:-(\d+)\}/.exec(text)?.[1]);
    const { SQL_MAX_CONNS: store, SQL_VIS_MAX_CONNS: visibility } = services['temporal']?.environment ?? {};
    // Frontend, history, matching and worker.
    const ofTemporal = 4 * (Number(store) + Number(visibility));
    const { env } = parseEnv({}) as { env: { DATABASE_POOL_SIZE: number } };
    const copies = ['api', 'worker', 'sandbox-worker'].length * 2;
    expect(most).toBeGreaterThanOrEqual(ofTemporal + copies * (env.DATABASE_POOL_SIZE + 1) + 20);
    expect(read('docs/operations.md')).toContain(
      `\`POSTGRES_MAX_CONNECTIONS\` (${most}): ${ofTemporal} for Temporal`,
    );
  });

  test('takes backups of all three parts into a volume of its own, once they are switched on', () => {
    const { environment = {}, volumes: mounts, ...service } = services['backups']!;
    expect(service).toMatchObject({ profiles: ['backups'], command: ['backups'] });
    expect(mounts).toEqual([`backups:${environment['BACKUP_DIR']}`]);
    expect(parseEnv(environmentOf('backups', required))).toMatchObject({ env: { BACKUP_EVERY: 86_400 } });
    expect(environmentOf('backups', { ...required, BACKUP_EVERY: '6h' })['BACKUP_EVERY']).toBe('6h');
    // As the schema is made for Temporal, and as the documentation names them for the command.
    const [store, visibility] = String(environment['TEMPORAL_DATABASE_URLS']).split(', ');
    expect([store, visibility]).toEqual(
      ['temporal', 'temporal_visibility'].map((name) => expect.stringMatching(new RegExp(`/${name}$`))),
    );
    expect(read('docker/temporal-schema.sh')).toContain('temporal_visibility');
    // The image's user writes there: a new volume takes over the folder's owner.
    expect(read('Dockerfile')).toContain(`mkdir ${environment['BACKUP_DIR']} && chown node`);
  });

  test('registers the search attributes that the code uses', () => {
    const script = read('docker/temporal-namespace.sh');
    for (const name of Object.values(SEARCH_ATTRIBUTES)) expect(script).toContain(name);
  });
});

describe('monitoring', () => {
  test('Prometheus scrapes every copy of api and worker, and authenticates to the api', () => {
    const { scrape_configs } = parse(read('docker/prometheus.yml')) as {
      scrape_configs: {
        job_name: string;
        dns_sd_configs: { names: string[]; port: number }[];
        authorization?: { credentials_file: string };
      }[];
    };
    const targets = Object.fromEntries(
      scrape_configs.map(({ dns_sd_configs: [found], authorization }) => [
        found?.names[0],
        [found?.port, authorization?.credentials_file],
      ]),
    );
    expect(targets).toEqual({ api: [3000, '/run/secrets/metrics_token'], worker: [9464, undefined] });
    expect(services['worker']?.environment).toMatchObject({
      WORKER_METRICS_ADDRESS: '0.0.0.0:9464',
      DATABASE_URL: expect.any(String),
    });
    expect(environmentOf('api', required)).not.toHaveProperty('WORKER_METRICS_ADDRESS');
    expect(text).toMatch(/^secrets:\n {2}metrics_token:\n {4}environment: METRICS_TOKEN$/m);
  });

  // test/e2e/monitoring.test.ts looks for the metrics in real answers.
  test('the dashboard asks the Prometheus of the same file, which has the rules of alerts', () => {
    const { panels } = JSON.parse(read('docker/grafana/cadenza.json')) as {
      panels: { datasource: { uid: string } }[];
    };
    const { datasources } = parse(read('docker/grafana/datasource.yml')) as {
      datasources: { uid: string; url: string }[];
    };
    expect([...new Set(panels.map(({ datasource }) => datasource.uid))]).toEqual(
      datasources.map(({ uid }) => uid),
    );
    expect(new URL(datasources[0]?.url ?? '').hostname).toBe('prometheus');
    const { rule_files: rules } = parse(read('docker/prometheus.yml')) as { rule_files: string[] };
    expect(text).toContain(`./docker/alerts.yml:${rules.join(' ')}:ro`);
  });

  test('somebody is alerted when a job of Prometheus has no target that answers, or none at all', () => {
    const { groups } = parse(read('docker/alerts.yml')) as {
      groups: { rules: { alert: string; expr: string; for?: string; labels: { severity: string } }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    const { scrape_configs: jobs } = parse(read('docker/prometheus.yml')) as {
      scrape_configs: { job_name: string }[];
    };
    const names = jobs.map(({ job_name: name }) => name);
    expect(names.toSorted()).toEqual(['api', 'worker']);
    for (const name of names) {
      const rule = rules.find(({ expr }) => expr === `(sum(up{job="${name}"}) or vector(0)) == 0`);
      expect([name, rule?.labels.severity]).toEqual([name, 'page']);
    }
    for (const [, job = ''] of rules.flatMap(({ expr }) => [...expr.matchAll(/\bup\{job="(\w+)"\}/g)]))
      expect(names).toContain(job);
  });

  test("Grafana has a password of its own, not that of Cadenza's administrator", () => {
    const { environment = {} } = services['grafana']!;
    expect(environment['GF_SECURITY_ADMIN_PASSWORD']).toBe('${GRAFANA_ADMIN_PASSWORD:?set it in .env}');
    expect(read('docs/operations.md')).toContain('GRAFANA_ADMIN_PASSWORD=$(openssl rand -hex 16)');
  });

  const METRIC = /\b(?:cadenza|nodejs|temporal_worker)_\w+/g;
  const metricsIn = (source: string): string[] => [...new Set(source.match(METRIC))].toSorted();
  const { groups } = parse(read('docker/alerts.yml')) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);

  test('rules and dashboard have every metric that the documents advise to alert on', () => {
    const worth =
      read('docs/monitoring.md')
        .split(/^## /m)
        .find((section) => section.startsWith('Choose alerts')) ?? '';
    const advised = [...read('docs/operations.md').matchAll(/alert on\s+`([^`]+)`/g)];
    const conditions = advised.map(([, condition = '']) => condition);
    expect(conditions).toHaveLength(1);
    expect(rules.map(({ expr }) => expr)).toEqual(expect.arrayContaining(conditions));
    const names = metricsIn(`${worth} ${conditions.join(' ')}`);
    expect(names).toContain('cadenza_runs_stuck');
    const ofRules = metricsIn(rules.map(({ expr }) => expr).join(' '));
    expect(names.filter((name) => !ofRules.includes(name))).toEqual([]);
    const shown = metricsIn(read('docker/grafana/cadenza.json'));
    expect(names.filter((name) => !shown.includes(name))).toEqual([]);
  });

  // test/engines/alerts.test.ts runs them.
  test('each alert has a case in which it fires, and its metrics one in which nothing is wrong', () => {
    const { tests } = parse(read('docker/alerts.test.yml')) as {
      tests: {
        input_series: { series: string }[];
        promql_expr_test: { expr: string; exp_samples: { labels: string }[] }[];
      }[];
    };
    const firing = tests
      .flatMap(({ promql_expr_test: expressions }) => expressions)
      .flatMap(({ exp_samples: samples }) => samples)
      .map(({ labels }) => /alertname="(\w+)",alertstate="firing"/.exec(labels)?.[1]);
    expect([...new Set(firing)].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    const [normal] = tests;
    const given = metricsIn(normal?.input_series.map(({ series }) => series).join(' ') ?? '');
    expect(given).toEqual(metricsIn(rules.map(({ expr }) => expr).join(' ')));
    expect(normal?.promql_expr_test.map(({ expr, exp_samples: samples }) => [expr, samples])).toEqual(
      [1, 2, 3].map(() => ['ALERTS', []]),
    );
  });
});

describe('the image', () => {
  test('holds the product folders, and what `cadenza server` needs, but no tests', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const included = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    for (const name of ['start:api', 'start:worker', 'migrate']) {
      const folder = / (\w+)\/\w+\.ts$/.exec(scripts[name] ?? '')?.[1];
      expect(included).toContain(folder);
    }
    expect(included).not.toEqual(expect.arrayContaining(['test']));
    expect(included).toEqual(expect.arrayContaining(['cli', 'dev']));
  });

  test.each(['entrypoint.sh', 'temporal-schema.sh', 'temporal-namespace.sh'])(
    '%s is a correct shell script',
    (name) => {
      expect(spawnSync('sh', ['-n', join(root, 'docker', name)]).status).toBe(0);
    },
  );

  test('has an entry point that refuses an unknown command', () => {
    const run = spawnSync('sh', [join(root, 'docker/entrypoint.sh'), 'everything'], { encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([
      64,
      'usage: api | worker | sandbox | engine-guard | migrate | backups | rotate-keys | worker-versions | ' +
        'server\n',
    ]);
  });
});
