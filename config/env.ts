/** The settings. Only this module reads `process.env`. `.env.example` documents every variable. */
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv as parseFile } from 'node:util';
import * as z from 'zod';
import { claimPath, externalIdClaim, issuerName, SECOND_FACTOR_RULE } from '../contracts/identity.ts';
import { issueText } from '../contracts/issue-texts.ts';
import { isTimeZone } from '../contracts/notifications.ts';
import { ROLES } from '../contracts/roles.ts';
import { closest } from '../contracts/suggest.ts';
import { withoutEnd } from '../contracts/text-end.ts';
import {
  capability,
  dataFolder,
  deniedAddress,
  encryptionKeys,
  hostMap,
  hostOrNetwork,
  interval,
  list,
  mcpCommands,
  oauthClientName,
  port,
  postgresUrl,
  quota,
  secondFactorClaim,
  switchOn,
  timeOfDay,
  traceUrl,
  TRACE_SAMPLERS,
  temporalName,
  trustProxy,
  versionName,
  webUrl,
} from './env-types.ts';
import { temporalProblems } from './temporal-connection.ts';

const schema = z.object({
  PORT: port(0).default(3000),
  HOST: z.string().default('127.0.0.1'),
  BASE_URL: webUrl().optional(),
  DATA_DIR: dataFolder().default('.cadenza'),
  NODE_ENV: z.enum(['development', 'production', 'test']).optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),

  DATABASE_URL: postgresUrl().optional(),
  POSTGRES_PORT: port(0).optional(),

  TEMPORAL_ADDRESS: z
    .string()
    .regex(/^[^\s/:]+:\d+$|^\[[0-9a-fA-F:]+\]:\d+$/, 'must be host:port')
    .optional(),
  TEMPORAL_NAMESPACE: temporalName().default('default'),
  TEMPORAL_TASK_QUEUE: temporalName().default('cadenza'),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_API_KEY_FILE: z.string().optional(),
  TEMPORAL_TLS: switchOn().optional(),
  TEMPORAL_TLS_CA: z.string().optional(),
  TEMPORAL_TLS_CERT: z.string().optional(),
  TEMPORAL_TLS_KEY: z.string().optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  TEMPORAL_DATABASE_URLS: list(postgresUrl()).default([]),
  TEMPORAL_UI_URL: webUrl().optional(),
  TEMPORAL_CODEC_TOKEN: capability().optional(),
  TEMPORAL_UI_CLIENT_ID: oauthClientName().default('temporal-ui'),
  TEMPORAL_UI_CLIENT_SECRET: capability().optional(),
  OPENID_BACKCHANNEL_URL: webUrl().optional(),
  TEMPORAL_PORT: port(0).optional(),
  TEMPORAL_UI_PORT: port(0).optional(),

  ADMIN_USERNAME: z.string().default('admin'),
  ADMIN_PASSWORD: z.string().min(12, 'must have at least 12 characters').optional(),
  ENCRYPTION_KEYS: encryptionKeys().default([]),
  ACCEPT_UNENCRYPTED_PAYLOADS: switchOn().default(false),
  /** Another namespace on Temporal takes the place of the one that had the runs of the database. */
  ACCEPT_NEW_TEMPORAL: switchOn().default(false),
  PUBLIC_AGENT_CARDS: switchOn().default(false),
  A2A_GRPC_PORT: z.union([z.literal('off'), port(0)], 'must be a port from 0 to 65535, or off').optional(),
  A2A_GRPC_URL: z.string().regex(/^\S+$/, 'must be an address such as grpc.example.com:443').optional(),
  A2A_DEFAULT_AGENT: z.guid('must be the id of an agent').optional(),
  CORS_ORIGINS: list(
    z.url({ protocol: /^https?$/, error: 'must be origins such as https://app.example.com' }),
  ).default([]),
  ALLOWED_HOSTS: list(
    z.hostname('must be names of hosts such as agents.example.com').transform((name) => name.toLowerCase()),
  ).default([]),
  TRUST_PROXY: trustProxy().default(0),
  EGRESS_ALLOW: list(hostOrNetwork()).default([]),
  EGRESS_HOST_MAP: hostMap().default([]),
  EGRESS_DENY: list(deniedAddress()).default([]),
  MCP_COMMANDS: mcpCommands().default({}),
  RATE_LIMIT_ADDRESS_PER_MINUTE: z.coerce.number().int().min(0).max(1_000_000).default(300),
  RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(0).max(1_000_000).default(0),
  CLIENT_MAX_DAYS: z.coerce.number().int().min(1).max(3_650).default(90),
  SESSION_IDLE_HOURS: z.coerce.number().int().min(1).max(720).default(720),
  SESSION_MAX_HOURS: z.coerce.number().int().min(1).max(8_760).default(2_160),
  SECOND_FACTOR_ROLES: list(z.enum(ROLES)).default([]),
  TOKEN_MAX_DAYS: z.coerce.number().int().min(1).max(3_650).default(365),
  AUDIT_RETENTION_DAYS: z.coerce.number().int().min(30).max(36_500).default(365),
  OAUTH_MAX_CLIENTS: z.coerce.number().int().min(0).max(1_000_000).default(1_000),
  OAUTH_CLIENTS_PER_ADDRESS: z.coerce.number().int().min(1).max(1_000_000).default(20),
  REQUESTS_PER_USER: z.coerce.number().int().min(0).max(100_000).default(500),
  API_MEMORY_MIB: z.coerce.number().int().min(64).max(1_048_576).optional(),
  API_MAX_DELAY_MS: z.coerce.number().int().min(0).max(600_000).default(5_000),
  STREAMS_PER_USER: z.coerce.number().int().min(0).max(100_000).default(50),
  STREAMS_PER_ADDRESS: z.coerce.number().int().min(0).max(100_000).default(200),
  WORKER_POLLS_PER_TOKEN: z.coerce.number().int().min(1).max(100_000).default(1_000),
  FILES_DIR: dataFolder().optional(),
  FILES_LARGE_VALUES: switchOn().default(true),
  FILES_S3_BUCKET: z.string().min(3).optional(),
  FILES_S3_ENDPOINT: webUrl().optional(),
  FILES_S3_REGION: z.string().default('us-east-1'),
  FILES_S3_PREFIX: z
    .string()
    .regex(/^[\w!.*'()/-]*$/, 'must be a part of an object key')
    .default('cadenza/'),
  FILES_S3_ACCESS_KEY_ID: z.string().optional(),
  FILES_S3_SECRET_ACCESS_KEY: z.string().optional(),
  FILES_S3_PATH_STYLE: switchOn().optional(),
  METRICS_TOKEN: capability().optional(),
  METRICS_LABELS: z.coerce.number().int().min(0).max(1_000).default(50),
  // The names of OpenTelemetry's own specification. Its exporter reads the other OTEL_EXPORTER_OTLP_* itself.
  OTEL_SDK_DISABLED: switchOn().default(false),
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webUrl().optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  OTEL_SERVICE_NAME: z.string().max(255).optional(),
  OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
  OTEL_TRACES_SAMPLER: z.enum(TRACE_SAMPLERS).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  OTEL_BSP_SCHEDULE_DELAY: z.coerce.number().int().min(10).max(60_000).default(5_000),
  OTEL_BSP_MAX_QUEUE_SIZE: z.coerce.number().int().min(1).max(100_000).default(2_048),
  TRACE_URL_TEMPLATE: traceUrl().optional(),
  WORKER_METRICS_ADDRESS: z
    .string()
    .regex(
      /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):\d{1,5}$/,
      'must be address:port such as 127.0.0.1:9464',
    )
    .optional(),
  RUN_MAX_EVENTS: quota(100_000, { least: 100, most: 10_000_000 }),
  RUN_SHORT_CALL_MS: z.coerce.number().int().min(0).max(5_000).default(500),
  RUN_MAX_DESCENDANTS: quota(1_000),
  RUN_MAX_DEPTH: z.coerce.number().int().min(1).max(100).default(20),
  RUN_TREE_MAX_EVENTS: z.coerce.number().int().min(100).max(1_000_000_000).default(1_000_000),
  RUN_TREE_MAX_TASKS: z.coerce.number().int().min(100).max(1_000_000_000).default(250_000),
  USER_MAX_LIVE_RUNS: quota(10_000),
  USER_MAX_RUNS_PER_MINUTE: quota(6_000),
  USER_MAX_STORED_BYTES: quota(10_737_418_240),
  USER_MAX_TOKENS: quota(100),
  USER_MAX_CLIENTS: quota(100),
  TEAM_MAX_LIVE_RUNS: quota(10_000),
  TEAM_MAX_RUNS_PER_MINUTE: quota(6_000),
  TEAM_MAX_STORED_BYTES: quota(107_374_182_400),
  TEAM_MAX_FILES: quota(100_000),
  TEAM_MAX_SECRETS: quota(1_000),
  TEAM_MAX_SCHEDULES: quota(1_000),
  TEAM_MAX_WEBHOOKS: quota(1_000),
  TEAM_MAX_HOOKS: quota(1_000),
  TEAM_MAX_EVENT_SOURCES: quota(1_000),
  PLATFORM_MAX_LIVE_RUNS: quota(0),
  PLATFORM_MAX_RUNS_PER_MINUTE: quota(0),
  PLATFORM_MAX_STORED_BYTES: quota(0),
  PLATFORM_MAX_FILES: quota(0),
  PLATFORM_MAX_SECRETS: quota(0),
  PLATFORM_MAX_SCHEDULES: quota(0),
  PLATFORM_MAX_WEBHOOKS: quota(0),
  PLATFORM_MAX_TOKENS: quota(0),
  AGENT_MAX_VERSIONS: quota(100),
  AGENT_MAX_DRAFTS: z.coerce.number().int().min(1).max(10_000).default(20),
  AGENT_MAX_BYTES: z.coerce.number().int().min(1_024).max(33_554_432).default(16_777_216),
  AGENT_MAX_SKILLS: z.coerce.number().int().min(1).max(10_000).default(100),
  WORKFLOW_MAX_REVISIONS: quota(1_000),
  USER_MAX_SECRETS: quota(1_000),
  USER_MAX_SCHEDULES: quota(100),
  USER_MAX_WEBHOOKS: quota(100),
  USER_MAX_HOOKS: quota(100),
  USER_MAX_EVENT_SOURCES: quota(1_000),
  USER_MAX_FILES: quota(10_000),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(4).max(200).default(20),
  WORKER_ANSWER_MIB: z.coerce.number().int().min(8).max(65_536).default(64),
  WORKER_MEMORY_MIB: z.coerce.number().int().min(256).max(1_048_576).optional(),
  WORKER_CACHED_RUNS: z.coerce.number().int().min(2).max(100_000).optional(),
  WORKER_VERSIONING: switchOn().default(false),
  WORKER_DEPLOYMENT: versionName().optional(),
  WORKER_BUILD_ID: versionName().optional(),
  EVENT_RETENTION_DAYS: z.coerce.number().int().min(1).max(3_650).default(30),
  SCRIPTS: switchOn().default(true),
  SCRIPT_THREADS: z.coerce.number().int().min(1).max(64).default(2),
  SCRIPT_MEMORY_MIB: z.coerce.number().int().min(4).max(1_024).default(64),
  SCRIPT_SECONDS: z.coerce.number().int().min(1).max(3_600).default(10),
  SANDBOX_TASK_QUEUE: z
    .string()
    .regex(/^[\w.-]{1,200}$/, 'must be a name such as sandbox')
    .optional(),
  SANDBOX_ENGINE: z
    .string()
    .regex(/^(?:unix:\/\/\/\S+|https?:\/\/[^\s/]+)$/, 'must be unix:///path, or http(s)://host:port')
    .optional(),
  SANDBOX_TOKEN: capability().optional(),
  SANDBOX_GUARD_ADDRESS: z
    .string()
    .regex(
      /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):\d{1,5}$/,
      'must be address:port such as 127.0.0.1:2375',
    )
    .default('127.0.0.1:2375'),
  SANDBOX_IMAGES: list(z.string()).default([]),
  SANDBOX_PULL: z.enum(['never', 'ifNotPresent', 'always']).default('ifNotPresent'),
  SANDBOX_SHELL_IMAGE: z.string().optional(),
  SANDBOX_PYTHON_IMAGE: z.string().optional(),
  SANDBOX_NETWORK: z
    .string()
    .regex(/^(?!host$|none$|container:)[\w.-]+$/, 'must be the name of a network, and not host')
    .optional(),
  SANDBOX_PORTS: list(z.string().regex(/^\d{1,5}(?:-\d{1,5})?$/, 'must be ports such as 8000-8100')).default(
    [],
  ),
  SANDBOX_VOLUMES: list(
    z.string().regex(/^[^:\s]+(?::rw)?$/, 'must be volumes or folders, with :rw if they may be written'),
  ).default([]),
  SANDBOX_USER: z
    .string()
    .regex(/^[1-9]\d*:[1-9]\d*$/, 'must be uid:gid, and not root')
    .default('65534:65534'),
  SANDBOX_MEMORY_MIB: z.coerce.number().int().min(8).max(1_048_576).default(256),
  SANDBOX_CPUS: z.coerce.number().min(0.1).max(256).default(1),
  SANDBOX_PIDS: z.coerce.number().int().min(1).max(100_000).default(64),
  SANDBOX_SECONDS: z.coerce.number().int().min(1).max(86_400).default(300),
  SANDBOX_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(4),
  SANDBOX_KEEP_HOURS: z.coerce.number().int().min(0).max(8_760).default(24),
  SMTP_HOST: z.string().min(1).max(255).optional(),
  SMTP_PORT: port(1).default(587),
  SMTP_TLS: z.enum(['starttls', 'implicit', 'none']).default('starttls'),
  SMTP_TLS_CA: z.string().optional(),
  SMTP_USERNAME: z.string().optional(),
  SMTP_PASSWORD: z.string().optional(),
  SMTP_FROM: z.string().min(3).max(320).optional(),
  NOTIFY_TEMPLATES: dataFolder().optional(),
  NOTIFY_TIME_ZONE: z.string().refine(isTimeZone, 'must be a time zone such as Europe/Paris').default('UTC'),
  DECISION_LINKS: switchOn().default(false),
  DECISION_LINK_HOURS: z.coerce.number().int().min(1).max(24).default(24),
  INVITATION_DAYS: z.coerce.number().int().min(1).max(30).default(7),
  PASSWORD_LINK_MINUTES: z.coerce.number().int().min(5).max(1_440).default(60),
  DIRECTORY_EMAIL: switchOn().default(false),
  NOTIFY_MAX_RECIPIENTS: z.coerce.number().int().min(1).max(100_000).default(1_000),
  USER_MAX_NOTIFICATION_CHANNELS: quota(20),
  RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).default(90),
  BACKUP_EVERY: interval().optional(),
  BACKUP_AT: timeOfDay().optional(),
  BACKUP_DIR: dataFolder().optional(),
  BACKUP_KEEP: z.coerce.number().int().min(1).max(10_000).optional(),
  BACKUP_KEEP_DAYS: z.coerce.number().int().min(1).max(36_500).optional(),

  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as https://id.example.com' })
    .optional(),
  OIDC_NAME: issuerName.default('oidc'),
  OIDC_TITLE: z.string().max(100).default('single sign-on'),
  OIDC_CLIENT_ID: z.string().max(500).optional(),
  OIDC_CLIENT_SECRET: z.string().max(2_000).optional(),
  OIDC_SCOPES: list(z.string()).default(['openid', 'profile', 'email']),
  OIDC_JWKS_URL: z.url({ protocol: /^https?$/, error: 'must be a URL' }).optional(),
  OIDC_ROLES_CLAIM: claimPath.default('roles'),
  OIDC_GROUPS_CLAIM: claimPath.default('groups'),
  OIDC_DEFAULT_ROLES: list(z.string())
    .pipe(z.array(z.enum(ROLES)))
    .default([]),
  OIDC_SECOND_FACTOR: secondFactorClaim().default(SECOND_FACTOR_RULE),
  OIDC_EXTERNAL_ID_CLAIM: externalIdClaim.optional(),
  OIDC_AUDIENCE: list(z.string().max(500)).default([]),
  OIDC_TOKEN_TYPES: list(z.enum(['at+jwt', 'jwt', 'none'])).default(['at+jwt']),
});

export const settingNames: readonly string[] = Object.keys(schema.shape);

type Settings = z.output<typeof schema>;

/** Parsed settings by variable name: lists are arrays, switches booleans, ports numbers. */
export type Env = Omit<Settings, 'BASE_URL' | 'FILES_DIR'> & {
  /** Without a trailing slash. */
  BASE_URL: string;
  /** Folder of the local file store. */
  FILES_DIR: string;
};

/** Settings of server processes, which need a database and Temporal. */
export type ServerEnv = Env & { DATABASE_URL: string; TEMPORAL_ADDRESS: string };

/** Pairs of variables: if the first is set, the second is required. */
const REQUIRED_TOGETHER = [
  ['BACKUP_AT', 'BACKUP_EVERY'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID'],
  ['OIDC_CLIENT_ID', 'OIDC_ISSUER'],
  ['TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY'],
  ['TEMPORAL_TLS_KEY', 'TEMPORAL_TLS_CERT'],
  ['TEMPORAL_UI_CLIENT_SECRET', 'TEMPORAL_UI_URL'],
  ['SMTP_HOST', 'SMTP_FROM'],
  ['SMTP_USERNAME', 'SMTP_PASSWORD'],
  ['SMTP_PASSWORD', 'SMTP_USERNAME'],
  ['FILES_S3_ENDPOINT', 'FILES_S3_BUCKET'],
  ['FILES_S3_ACCESS_KEY_ID', 'FILES_S3_SECRET_ACCESS_KEY'],
  ['FILES_S3_SECRET_ACCESS_KEY', 'FILES_S3_ACCESS_KEY_ID'],
] as const;

export type EnvSource = Record<string, string | undefined>;
export type EnvProblem = { name: string; message: string };

/**
 * Parses settings without side effects.
 * @returns the settings, or all problems. An empty variable counts as unset.
 */
export function parseEnv(source: EnvSource): { env: Env } | { problems: EnvProblem[] } {
  const given = Object.fromEntries(
    settingNames.flatMap((name) => {
      const value = source[name]?.trim();
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const parsed = schema.safeParse(given, { error: issueText });
  const problems: EnvProblem[] = parsed.success
    ? []
    : parsed.error.issues.map((issue) => ({ name: String(issue.path[0]), message: issue.message }));
  for (const [name, required] of REQUIRED_TOGETHER) {
    if (given[name] && !given[required])
      problems.push({ name: required, message: `is required with ${name}` });
  }
  if (!parsed.success || problems.length > 0) return { problems };
  const { BASE_URL, FILES_DIR, ...rest } = parsed.data;
  return {
    env: {
      ...rest,
      BASE_URL: BASE_URL ?? defaultBaseUrl(rest.HOST, rest.PORT),
      FILES_DIR: FILES_DIR ?? `${withoutEnd(rest.DATA_DIR, '/')}/files`,
    },
  };
}

/**
 * Loads the settings of this process from `source`, by default its environment and the file `.env` in the
 * working directory; the environment wins. On problems, prints all of them to stderr and exits with 2.
 */
export function loadEnv(source: EnvSource = variables()): Env {
  const result = parseEnv(source);
  return 'env' in result ? result.env : exitWithProblems(result.problems);
}

/**
 * Like `loadEnv`, for api, worker and migrate, which also require the database, Temporal and encryption keys.
 */
export function loadServerEnv(source: EnvSource = variables()): ServerEnv {
  const env = loadEnv(source);
  const { DATABASE_URL, TEMPORAL_ADDRESS, ENCRYPTION_KEYS } = env;
  const problems: EnvProblem[] = [];
  const message = 'is required (npm start provides its own)';
  if (!DATABASE_URL) problems.push({ name: 'DATABASE_URL', message });
  if (!TEMPORAL_ADDRESS) problems.push({ name: 'TEMPORAL_ADDRESS', message });
  if (ENCRYPTION_KEYS.length === 0) problems.push({ name: 'ENCRYPTION_KEYS', message });
  if (TEMPORAL_ADDRESS) problems.push(...temporalProblems({ ...env, TEMPORAL_ADDRESS }));
  if (!DATABASE_URL || !TEMPORAL_ADDRESS || problems.length > 0) return exitWithProblems(problems);
  return { ...env, DATABASE_URL, TEMPORAL_ADDRESS };
}

/** Settings of a sandbox worker. */
type SandboxEnv = ServerEnv & { SANDBOX_TASK_QUEUE: string; SANDBOX_ENGINE: string };

/** Like `loadServerEnv`, for sandbox workers, which also require their task queue and an engine. */
export function loadSandboxEnv(source: EnvSource = variables()): SandboxEnv {
  const env = loadServerEnv(source);
  const { SANDBOX_TASK_QUEUE, SANDBOX_ENGINE } = env;
  const problems: EnvProblem[] = [];
  const message = 'is required by sandbox workers';
  if (!SANDBOX_TASK_QUEUE) problems.push({ name: 'SANDBOX_TASK_QUEUE', message });
  if (!SANDBOX_ENGINE) problems.push({ name: 'SANDBOX_ENGINE', message });
  if (!SANDBOX_TASK_QUEUE || !SANDBOX_ENGINE) return exitWithProblems(problems);
  return { ...env, SANDBOX_TASK_QUEUE, SANDBOX_ENGINE };
}

/** Settings of the guard before an engine, which needs neither a database nor Temporal nor keys. */
export function loadGuardEnv(
  source: EnvSource = variables(),
): Env & { SANDBOX_TOKEN: string; socketPath: string } {
  const env = loadEnv(source);
  const { SANDBOX_TOKEN, SANDBOX_ENGINE } = env;
  const problems: EnvProblem[] = [];
  if (!SANDBOX_TOKEN) problems.push({ name: 'SANDBOX_TOKEN', message: 'is required by the guard' });
  if (SANDBOX_ENGINE?.startsWith('unix://') !== true)
    problems.push({ name: 'SANDBOX_ENGINE', message: 'must be the socket of the engine, as unix:///path' });
  if (!SANDBOX_TOKEN || problems.length > 0) return exitWithProblems(problems);
  return { ...env, SANDBOX_TOKEN, socketPath: (SANDBOX_ENGINE ?? '').slice('unix://'.length) };
}

/**
 * Environment of a child process: this process's own, with `changes` applied (`undefined` removes a
 * variable).
 */
export function childEnv(changes: EnvSource, source: EnvSource = variables()): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ ...source, ...changes }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

function variables(): EnvSource {
  if (!existsSync('.env')) return process.env;
  process.loadEnvFile('.env');
  // Once for the programs that this one starts, too.
  if (process.env[FILE_CHECKED] === undefined) {
    process.env[FILE_CHECKED] = 'yes';
    for (const line of misspeltSettings(readFileSync('.env', 'utf8'))) process.stderr.write(`${line}\n`);
  }
  return process.env;
}

const FILE_CHECKED = 'CADENZA_ENV_FILE_CHECKED';

/**
 * A line for each name in a file of settings that is nearly one. Other programs may have theirs in the file.
 */
export function misspeltSettings(text: string): string[] {
  return Object.keys(parseFile(text)).flatMap((name) => {
    const meant = settingNames.includes(name) ? undefined : meantSetting(name);
    return meant === undefined ? [] : [`.env: ${name} is not a setting: did you mean ${meant}?`];
  });
}

function meantSetting(name: string): string | undefined {
  const words = name.split('_');
  const near = settingNames.filter((setting) => isNear(words, setting.split('_')));
  return closest(name, near, MOST_WRONG);
}

/** Letters that may be wrong. */
const MOST_WRONG = 2;
/** In shorter words, two other letters make another word, as in `PGHOST` and `HTTP_PORT`. */
const LONG_WORD = 8;

/** Whether the words are the same, each but for a slip. */
function isNear(words: readonly string[], wanted: readonly string[]): boolean {
  return (
    words.length === wanted.length &&
    wanted.every((word, at) => {
      const most = word.length < LONG_WORD ? 1 : MOST_WRONG;
      return closest(words[at] ?? '', [word], most) !== undefined;
    })
  );
}

function defaultBaseUrl(host: string, portNumber: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${portNumber}`;
}

function exitWithProblems(problems: EnvProblem[]): never {
  const lines = problems.map(({ name, message }) => `  ${name} ${message}`);
  process.stderr.write(`Cadenza cannot start with these settings (see .env.example):\n${lines.join('\n')}\n`);
  process.exit(2);
}
