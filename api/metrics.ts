/**
 * Prometheus metrics of this process, its HTTP requests and the database. There are few labels, and none has
 * user data.
 */
import type { Context, Middleware } from 'koa';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import { RUN_STATUSES } from '../contracts/run-events.ts';
import type { Logger } from '../config/logger.ts';
import type { WatchedCertificate } from '../config/temporal-connection.ts';
import type { Orm, PoolState } from '../db/orm.ts';
import type { Backups } from '../domain/operations/backups.ts';
import { readFigures, type Figures } from '../domain/operations/figures.ts';
import { dayText } from './day-metrics.ts';

export interface MetricsOptions {
  orm: Orm;
  logger: Logger;
  /** Connection pool to PostgreSQL. */
  pool?: () => PoolState | null;
  /** The most workflows, and the most agents, that have figures of their own. Default: 50. */
  labels?: number;
  /** With which this process connects to Temporal. */
  certificates?: readonly WatchedCertificate[];
  /** Event loop, memory and garbage collection. Enable it once per process. */
  ofProcess?: boolean;
}

export interface Metrics {
  /** Measures request durations by route template. */
  middleware: Middleware;
  /** Metrics in Prometheus text format 0.0.4. */
  text(): Promise<string>;
}

export const METRICS_TYPE = 'text/plain; version=0.0.4';

/** Caches database figures, so that frequent or concurrent scrapes query the database once. */
const KEEP_MS = 10_000;
/** After this, the scrape is answered without the database's figures. */
const DATABASE_TIMEOUT_MS = 3_000;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function createMetrics(options: MetricsOptions): Metrics {
  const { orm, logger, pool, labels = 50, ofProcess = false, certificates = [] } = options;
  const registry = new Registry();
  const registers = [registry];
  if (ofProcess) collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'cadenza_http_request_duration_seconds',
    help: 'Duration of HTTP requests until the end of the response',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers,
  });
  new Gauge({
    name: 'cadenza_postgres_connections',
    help: 'Connections of this process to PostgreSQL, and requests waiting for one',
    labelNames: ['state'],
    registers,
    collect() {
      const state = pool?.();
      if (!state) return;
      this.set({ state: 'idle' }, state.idleCount);
      this.set({ state: 'busy' }, state.totalCount - state.idleCount);
      this.set({ state: 'awaited' }, state.waitingCount);
    },
  });
  const countRefusal = refusalsIn(registers);
  showExpiry(registers, certificates);
  const show = figuresIn(registers);
  let cached: { at: number; figures: Promise<Figures> } | null = null;
  const figures = (): Promise<Figures> => {
    if (!cached || performance.now() - cached.at > KEEP_MS) {
      const reading = readFigures(orm.em.fork(), labels);
      cached = { at: performance.now(), figures: reading };
      reading.catch(() => (cached = null));
    }
    return cached.figures;
  };
  return {
    middleware: (ctx, next) => {
      const at = performance.now();
      ctx.res.once('close', () => {
        durations.observe(labelsOf(ctx), (performance.now() - at) / 1000);
        countRefusal(ctx.state['refusal'] ?? {});
      });
      return next();
    },
    async text() {
      const read = await within(DATABASE_TIMEOUT_MS, figures()).catch((error: unknown) => {
        logger.warn({ err: error }, 'metrics lack the database figures');
        return null;
      });
      show(read);
      const own = await registry.metrics();
      return read === null ? own : `${own}\n${dayText(read.day)}`;
    },
  };
}

function labelsOf(ctx: Context): Record<'method' | 'route' | 'status', string> {
  return {
    method: METHODS.has(ctx.method) ? ctx.method : 'other',
    route: String(ctx.state['route'] ?? 'none'),
    status: String(ctx.status),
  };
}

/** Counts a refusal of a request, if a quota is the reason. */
function refusalsIn(registers: Registry[]): (facts: Record<string, unknown>) => void {
  const refusals = new Counter({
    name: 'cadenza_quota_refusals_total',
    help: 'Requests that a quota of a user, a team or the platform has refused',
    labelNames: ['quota', 'scope'],
    registers,
  });
  return ({ quota, scope }) => {
    if (typeof quota === 'string') refusals.inc({ quota, scope: String(scope) });
  };
}

function showExpiry(registers: Registry[], certificates: readonly WatchedCertificate[]): void {
  const expiry = new Gauge({
    name: 'cadenza_temporal_certificate_expires_seconds',
    help: 'Unix time at which a certificate of the connection to Temporal expires, by its setting',
    labelNames: ['setting'],
    registers,
  });
  for (const { setting, expiresAt } of certificates) expiry.set({ setting }, expiresAt.getTime() / 1_000);
}

/** Of the oldest that waits: name, help and figure. */
const AGES: readonly [name: string, help: string, ageIn: (figures: Figures) => number][] = [
  [
    'delivery_lag_seconds',
    'Age of the oldest due delivery that no worker has picked up',
    (figures) => figures.deliveryLagSeconds,
  ],
  [
    'reconciler_lag_seconds',
    'Age of the oldest due start or signal that Temporal has not received',
    (figures) => figures.reconcilerLagSeconds,
  ],
  [
    'inbound_event_lag_seconds',
    'Age of the oldest event from outside that was not matched with listeners',
    (figures) => figures.inboundLagSeconds,
  ],
  [
    'notification_lag_seconds',
    'How long the oldest mail or chat message has been due',
    (figures) => figures.notificationLagSeconds,
  ],
  [
    'audit_unsealed_seconds',
    'Age of the oldest entry of the audit log that no seal covers',
    (figures) => figures.auditUnsealedSeconds,
  ],
];

/** Each is missing if there is no such backup. */
const OF_BACKUPS: readonly [
  name: string,
  help: string,
  figureIn: (backups: Backups) => number | undefined,
][] = [
  [
    'backup_age_seconds',
    'Time since the last complete backup of `cadenza server backup` began',
    ({ complete }) => complete?.ageSeconds,
  ],
  ['backup_bytes', 'Size of the last complete backup', ({ complete }) => complete?.bytes],
  ['backup_duration_seconds', 'How long the last complete backup took', ({ complete }) => complete?.seconds],
  ['backup_failure_age_seconds', 'Time since a backup has failed', ({ failed }) => failed?.ageSeconds],
  ['backup_failures', 'Backups that failed since the last complete one', ({ failures }) => failures],
];

function figuresIn(registers: Registry[]): (figures: Figures | null) => void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `cadenza_${name}`, help, labelNames, registers });
  const up = gauge(
    'database_up',
    '1 if the database answered this scrape; if 0, the figures below are missing',
  );
  const runs = gauge('runs', 'Stored runs by status', ['status']);
  const humanTasks = gauge('human_tasks', 'Human tasks without a decision', ['status']);
  const overdue = gauge('human_tasks_overdue', 'Human tasks without a decision that are past their due time');
  const undecidable = gauge(
    'human_tasks_undecidable_now',
    'Open human tasks that too few people may decide now, apart from admins',
  );
  const deliveries = gauge(
    'deliveries',
    'Deliveries to webhooks and push receivers that are pending or were given up',
    ['status'],
  );
  const ages = AGES.map(([name, help, ageIn]) => ({ metric: gauge(name, help), ageIn }));
  const ofBackups = OF_BACKUPS.map(([name, help, figureIn]) => ({ metric: gauge(name, help), figureIn }));
  const ending = gauge(
    'credentials_ending',
    'Access tokens, machine clients and SCIM tokens that end within 3 days',
    ['kind'],
  );
  const labelled = [runs, humanTasks, deliveries, ending];
  const stuck = gauge('runs_stuck', 'Stuck runs, whose workflow tasks fail repeatedly');
  const circuits = gauge('agent_circuits_open', 'Agents whose circuit breaker is open or half open');
  const ofTasks = [overdue, undecidable];
  const single = [
    stuck,
    circuits,
    ...ofTasks,
    ...ages.map(({ metric }) => metric),
    ...ofBackups.map(({ metric }) => metric),
  ];
  return (figures) => {
    up.set(figures ? 1 : 0);
    for (const metric of labelled) metric.reset();
    // A missing metric is better than a wrong 0.
    for (const metric of single) metric.remove();
    if (!figures) return;
    for (const status of RUN_STATUSES) runs.set({ status }, figures.runs[status] ?? 0);
    for (const [status, count] of Object.entries(figures.humanTasks)) humanTasks.set({ status }, count);
    stuck.set(figures.runsStuck);
    circuits.set(figures.circuitsOpen);
    overdue.set(figures.humanTasksOverdue);
    undecidable.set(figures.humanTasksUndecidable);
    for (const [status, count] of Object.entries(figures.deliveries)) deliveries.set({ status }, count);
    for (const [kind, count] of Object.entries(figures.credentialsEnding)) ending.set({ kind }, count);
    for (const { metric, ageIn } of ages) metric.set(ageIn(figures));
    for (const { metric, figureIn } of ofBackups) {
      const figure = figureIn(figures.backups);
      if (figure !== undefined) metric.set(figure);
    }
  };
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
