/** Settings. The only place that reads `process.env`; the same names, with their meaning, are in `.env.example`. */
import { existsSync } from 'node:fs';
import * as z from 'zod';
import { capability, encryptionKeys, hostMap, hostOrNetwork, list, notAvailable, port, switchOn, trustProxy, webUrl } from './env-types.ts';

const schema = z.object({
  PORT: port(0).default(3000),
  HOST: z.string().default('127.0.0.1'),
  BASE_URL: webUrl().optional(),
  DATA_DIR: z.string().default('.cadenza'),
  NODE_ENV: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),

  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a URL like postgres://user:password@host:5432/database' }).optional(),
  POSTGRES_PORT: port(0).optional(),

  TEMPORAL_ADDRESS: z.string().regex(/^[^\s/:]+:\d+$|^\[[0-9a-fA-F:]+\]:\d+$/, 'must be host:port').optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TASK_QUEUE: z.string().default('cadenza'),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_TLS: switchOn().optional(),
  TEMPORAL_TLS_CA: z.string().optional(),
  TEMPORAL_TLS_CERT: z.string().optional(),
  TEMPORAL_TLS_KEY: z.string().optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  TEMPORAL_UI_URL: webUrl().optional(),
  TEMPORAL_CODEC_TOKEN: capability().optional(),
  TEMPORAL_PORT: port(0).optional(),
  TEMPORAL_UI_PORT: port(0).optional(),

  ADMIN_USERNAME: z.string().default('admin'),
  ADMIN_PASSWORD: z.string().min(12, 'must have at least 12 characters').optional(),
  ENCRYPTION_KEYS: encryptionKeys().default([]),
  PUBLIC_AGENT_CARDS: switchOn().default(false),
  A2A_GRPC_PORT: z.union([z.literal('off'), port(0)], 'must be a port from 0 to 65535, or off').optional(),
  A2A_GRPC_URL: z.string().regex(/^\S+$/, 'must be an address such as grpc.example.com:443').optional(),
  A2A_DEFAULT_AGENT: z.guid('must be the id of an agent').optional(),
  CORS_ORIGINS: list(z.url({ protocol: /^https?$/, error: 'must be origins such as https://app.example.com' })).default([]),
  TRUST_PROXY: trustProxy().default(0),
  EGRESS_ALLOW: list(hostOrNetwork()).default([]),
  EGRESS_HOST_MAP: hostMap().default([]),
  RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(0).max(1_000_000).default(0),
  FILES_DIR: z.string().optional(),
  FILES_LARGE_VALUES: switchOn().default(true),
  FILES_S3_BUCKET: z.string().min(3).optional(),
  FILES_S3_ENDPOINT: webUrl().optional(),
  FILES_S3_REGION: z.string().default('us-east-1'),
  FILES_S3_PREFIX: z.string().regex(/^[\w!.*'()/-]*$/, 'must be a part of an object key').default('cadenza/'),
  FILES_S3_ACCESS_KEY_ID: z.string().optional(),
  FILES_S3_SECRET_ACCESS_KEY: z.string().optional(),
  FILES_S3_PATH_STYLE: switchOn().optional(),
  METRICS_TOKEN: capability().optional(),
  WORKER_METRICS_ADDRESS: z.string().regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):\d{1,5}$/, 'must be address:port such as 127.0.0.1:9464').optional(),
  RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).default(90),

  OIDC_ISSUER: notAvailable('an external OpenID Connect issuer'),
  OIDC_AUDIENCE: notAvailable('an external OpenID Connect issuer'),
  OIDC_JWKS_URL: notAvailable('an external OpenID Connect issuer'),
  OIDC_ROLES_CLAIM: notAvailable('an external OpenID Connect issuer'),
});

export const settingNames: readonly string[] = Object.keys(schema.shape);

type Settings = z.output<typeof schema>;
type Reserved = 'OIDC_ISSUER' | 'OIDC_AUDIENCE' | 'OIDC_JWKS_URL' | 'OIDC_ROLES_CLAIM';

/** Settings under the names of their variables, parsed; lists are arrays, switches booleans, ports numbers. */
export type Env = Omit<Settings, Reserved | 'BASE_URL' | 'FILES_DIR'> & {
  /** Without a slash at the end. */
  BASE_URL: string;
  /** Folder of the local file store. */
  FILES_DIR: string;
};

/** What a process that serves needs beyond the defaults. */
export type ServerEnv = Env & { DATABASE_URL: string; TEMPORAL_ADDRESS: string };

/** The second is needed where the first is set. */
const NEEDED_TOGETHER = [
  ['TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY'], ['TEMPORAL_TLS_KEY', 'TEMPORAL_TLS_CERT'], ['FILES_S3_ENDPOINT', 'FILES_S3_BUCKET'],
  ['FILES_S3_ACCESS_KEY_ID', 'FILES_S3_SECRET_ACCESS_KEY'], ['FILES_S3_SECRET_ACCESS_KEY', 'FILES_S3_ACCESS_KEY_ID'],
] as const;

export type EnvSource = Record<string, string | undefined>;
export type EnvProblem = { name: string; message: string };

/** Reads settings without side effects: the settings, or every problem at once. An empty variable counts as unset. */
export function parseEnv(source: EnvSource): { env: Env } | { problems: EnvProblem[] } {
  const given = Object.fromEntries(
    settingNames.flatMap((name) => {
      const value = source[name]?.trim();
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const parsed = schema.safeParse(given);
  const problems: EnvProblem[] = parsed.success
    ? []
    : parsed.error.issues.map((issue) => ({ name: String(issue.path[0]), message: issue.message }));
  for (const [one, other] of NEEDED_TOGETHER) {
    if (given[one] && !given[other]) problems.push({ name: other, message: `is needed with ${one}` });
  }
  if (!parsed.success || problems.length > 0) return { problems };
  const { BASE_URL, FILES_DIR, ...rest } = parsed.data;
  return { env: { ...rest, BASE_URL: BASE_URL ?? defaultBaseUrl(rest.HOST, rest.PORT), FILES_DIR: FILES_DIR ?? `${rest.DATA_DIR.replace(/\/+$/, '')}/files` } };
}

/**
 * Settings of this process, by default its variables and those of the file `.env` in the working directory, which do not win
 * over them; prints every problem to stderr and exits with 2 if there is one.
 */
export function loadEnv(source: EnvSource = variables()): Env {
  const result = parseEnv(source);
  return 'env' in result ? result.env : refuse(result.problems);
}

/** As `loadEnv`, for api, worker and migrate, which need a database and (the first two) Temporal. */
export function loadServerEnv(source: EnvSource = variables()): ServerEnv {
  const env = loadEnv(source);
  const { DATABASE_URL, TEMPORAL_ADDRESS, ENCRYPTION_KEYS } = env;
  const problems: EnvProblem[] = [];
  if (!DATABASE_URL) problems.push({ name: 'DATABASE_URL', message: 'is needed (npm start brings its own)' });
  if (!TEMPORAL_ADDRESS) problems.push({ name: 'TEMPORAL_ADDRESS', message: 'is needed (npm start brings its own)' });
  if (ENCRYPTION_KEYS.length === 0) problems.push({ name: 'ENCRYPTION_KEYS', message: 'is needed (npm start brings its own)' });
  if (!DATABASE_URL || !TEMPORAL_ADDRESS || problems.length > 0) return refuse(problems);
  return { ...env, DATABASE_URL, TEMPORAL_ADDRESS };
}

/** The variables to hand to a child process: this process's own with changes on top (`undefined` removes one). */
export function childEnv(changes: EnvSource, source: EnvSource = variables()): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ ...source, ...changes }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function variables(): EnvSource {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return process.env;
}

function defaultBaseUrl(host: string, portNumber: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${portNumber}`;
}

function refuse(problems: EnvProblem[]): never {
  const lines = problems.map(({ name, message }) => `  ${name} ${message}`);
  process.stderr.write(`Cadenza cannot start with these settings (see .env.example):\n${lines.join('\n')}\n`);
  process.exit(2);
}
