/** Figures for Prometheus: of this process, of its HTTP requests, and of the database. Labels are few, and never data of users. */
import type { Middleware } from 'koa';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

import type { Logger } from '../config/logger.ts';
import type { Orm, PoolState } from '../db/orm.ts';
import { readFigures, type Figures } from '../domain/operations/figures.ts';

export interface MetricsOptions {
  orm: Orm;
  logger: Logger;
  /** Connections to PostgreSQL. */
  pool?: () => PoolState | null;
  /** Event loop, memory, collections of garbage: once a process. */
  ofProcess?: boolean;
}

export interface Metrics {
  /** Times requests, by the route's template. */
  middleware: Middleware;
  /** In Prometheus' text format 0.0.4. */
  text(): Promise<string>;
}

export const METRICS_TYPE = 'text/plain; version=0.0.4';

/** Scrapes of several servers, or of somebody in a hurry, ask the database once. */
const keepMs = 10_000;
/** Then the scrape goes out without the database's figures. */
const databaseTimeoutMs = 3_000;
const statuses = ['pending', 'running', 'waiting', 'suspended', 'completed', 'faulted', 'cancelled'];
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function createMetrics({ orm, logger, pool, ofProcess = false }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (ofProcess) collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'cadenza_http_request_duration_seconds', help: 'Duration of HTTP requests, to the end of the answer', labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60], registers,
  });
  new Gauge({
    name: 'cadenza_postgres_connections', help: 'Connections of this process to PostgreSQL, and requests that wait for one', labelNames: ['state'], registers,
    collect() {
      const state = pool?.();
      if (!state) return;
      this.set({ state: 'idle' }, state.idleCount);
      this.set({ state: 'busy' }, state.totalCount - state.idleCount);
      this.set({ state: 'awaited' }, state.waitingCount);
    },
  });
  const show = figuresIn(registers);
  let asked: { at: number; figures: Promise<Figures> } | null = null;
  const figures = (): Promise<Figures> => {
    if (!asked || performance.now() - asked.at > keepMs) {
      const reading = readFigures(orm.em.fork());
      asked = { at: performance.now(), figures: reading };
      reading.catch(() => (asked = null));
    }
    return asked.figures;
  };
  return {
    middleware: async (ctx, next) => {
      const at = performance.now();
      ctx.res.once('close', () => {
        const labels = { method: methods.has(ctx.method) ? ctx.method : 'other', route: String(ctx.state['route'] ?? 'none'), status: String(ctx.status) };
        durations.observe(labels, (performance.now() - at) / 1000);
      });
      await next();
    },
    async text() {
      show(await within(databaseTimeoutMs, figures()).catch((error: unknown) => {
        logger.warn({ err: error }, 'metrics without the database');
        return null;
      }));
      return registry.metrics();
    },
  };
}

function figuresIn(registers: Registry[]): (figures: Figures | null) => void {
  const gauge = (name: string, help: string, labelNames: string[] = []) => new Gauge({ name: `cadenza_${name}`, help, labelNames, registers });
  const up = gauge('database_up', '1 if the database answered this scrape; without it the figures below are missing');
  const runs = gauge('runs', 'Runs that are kept, by status', ['status']);
  const humanTasks = gauge('human_tasks', 'Human tasks without a decision', ['status']);
  const overdue = gauge('human_tasks_overdue', 'Human tasks without a decision that are past their due time');
  const deliveries = gauge('deliveries', 'Messages to webhooks and push receivers: not yet delivered, and given up', ['status']);
  const deliveryLag = gauge('delivery_lag_seconds', 'How long the oldest delivery has been due that nobody has taken up');
  const reconcilerLag = gauge('reconciler_lag_seconds', 'How long the oldest start or signal has been due that Temporal has not received');
  const labelled = [runs, humanTasks, deliveries];
  const single = [overdue, deliveryLag, reconcilerLag];
  return (figures) => {
    up.set(figures ? 1 : 0);
    for (const one of labelled) one.reset();
    // Not there is better than 0.
    for (const one of single) one.remove();
    if (!figures) return;
    for (const status of statuses) runs.set({ status }, figures.runs[status] ?? 0);
    for (const [status, count] of Object.entries(figures.humanTasks)) humanTasks.set({ status }, count);
    overdue.set(figures.humanTasksOverdue);
    for (const [status, count] of Object.entries(figures.deliveries)) deliveries.set({ status }, count);
    deliveryLag.set(figures.deliveryLagSeconds);
    reconcilerLag.set(figures.reconcilerLagSeconds);
  };
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
