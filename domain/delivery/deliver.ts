/**
 * Sends the due deliveries of one target in order; a failed delivery holds back those behind it. Every step
 * is a row, so a crash at most repeats one message, with the same id.
 */
import type { EntityManager, Orm } from '../../db/orm.ts';
import { patiently } from '../../db/patiently.ts';
import type { DeliverySender } from '../ports.ts';
import { inSpan, SpanKind } from '../../tracing/context.ts';
import { contextOfRun } from '../../tracing/run-context.ts';
import type { Attempt, DeliveryKinds } from './kind.ts';
import { headOf, type Head } from './outbox.ts';
import { placeWaitMs, type DeliveryPlace, type DeliveryPlaces } from './places.ts';
import { pauseMs, type RetryPolicy } from './retry.ts';
import { TARGET_COLUMNS, type DeliveryTarget, type DisabledReason } from './target.ts';

export interface DeliverDeps {
  orm: Orm;
  kinds: DeliveryKinds;
  sender: DeliverySender;
  retry: RetryPolicy;
  /** Shared by all targets of the process. */
  places: DeliveryPlaces;
}

/** `wait_ms`: when to call again; null if nothing is pending or the target is not active. */
export interface Delivered {
  sent: number;
  wait_ms: number | null;
}

const LEASE_MARGIN_MS = 10_000;

interface Claim {
  target: DeliveryTarget;
  head: Head;
}

interface DeliverOptions {
  max: number;
  signal: AbortSignal;
  heartbeat(this: void): void;
}

/**
 * Sends until nothing is due, `max` deliveries were tried, or others wait for the place; `signal` stops it
 * between two.
 */
export async function deliverDue(
  deps: DeliverDeps,
  targetId: string,
  options: DeliverOptions,
): Promise<Delivered> {
  const place = deps.places.place();
  try {
    return await deliverFrom(deps, place, targetId, options);
  } finally {
    place.leave();
  }
}

async function deliverFrom(
  deps: DeliverDeps,
  place: DeliveryPlace,
  targetId: string,
  options: DeliverOptions,
): Promise<Delivered> {
  for (let sent = 0; sent < options.max; sent++) {
    options.heartbeat();
    options.signal.throwIfAborted();
    if (place.isOver()) return { sent, wait_ms: placeWaitMs() };
    const claimed = await deps.orm.em
      .fork()
      .transactional((em) => claim(em, place, targetId, deps.retry.timeoutMs + LEASE_MARGIN_MS));
    if (!('target' in claimed)) return { sent, wait_ms: claimed.wait_ms };
    const outcome = await attempt(deps, claimed, options.signal);
    await patiently(
      () => deps.orm.em.fork().transactional((em) => record(em, deps.retry, claimed, outcome)),
      options,
    );
  }
  return { sent: options.max, wait_ms: 0 };
}

/** Leases the first pending delivery, if there is a place to send it. */
async function claim(
  em: EntityManager,
  place: DeliveryPlace,
  targetId: string,
  leaseMs: number,
): Promise<Claim | { wait_ms: number | null }> {
  const [row] = await em.execute<(DeliveryTarget & { due_ms: number | null; lease_ms: number | null })[]>(
    `select ${TARGET_COLUMNS}, (extract(epoch from t.due_at - clock_timestamp()) * 1000)::float8 as due_ms,
            (extract(epoch from t.leased_until - clock_timestamp()) * 1000)::float8 as lease_ms
       from delivery_target t where t.id = ? for update`,
    [targetId],
  );
  if (!row?.active || row.due_ms === null) return { wait_ms: null };
  const wait = Math.max(row.due_ms, row.lease_ms ?? 0);
  if (wait > 0) return { wait_ms: Math.ceil(wait) };
  const head = await headOf(em, targetId);
  if (head === null) {
    await em.execute('update delivery_target set due_at = null, leased_until = null where id = ?', [
      targetId,
    ]);
    return { wait_ms: null };
  }
  if (!place.take(row)) return { wait_ms: placeWaitMs() };
  await em.execute(
    `update delivery_target set leased_until = clock_timestamp() + ? * interval '1 millisecond' where id = ?`,
    [leaseMs, targetId],
  );
  await em.execute(
    'update delivery set attempts = attempts + 1, last_attempt_at = clock_timestamp() where id = ?',
    [head.id],
  );
  const { due_ms: _due, lease_ms: _lease, ...target } = row;
  return { target, head: { ...head, attempts: head.attempts + 1 } };
}

interface Outcome {
  status: number | null;
  /** Null if delivered. */
  error: string | null;
  retry_after_ms: number | null;
  duration_ms: number;
}

async function attempt(deps: DeliverDeps, claimed: Claim, signal: AbortSignal): Promise<Outcome> {
  const { target, head } = claimed;
  const startedMs = performance.now();
  const done = (outcome: Omit<Outcome, 'duration_ms'>): Outcome => ({
    ...outcome,
    duration_ms: Math.round(performance.now() - startedMs),
  });
  const kind = deps.kinds[target.kind];
  if (!kind)
    return done({
      status: null,
      error: `Unknown kind of target: ${target.kind}`,
      retry_after_ms: null,
    });
  const { message_id, type, content_type, body } = head;
  const message: Attempt = {
    message_id,
    type,
    content_type,
    body,
    delivery_id: head.id,
    attempt: head.attempts,
    at: new Date(),
  };
  const headers = { 'content-type': content_type, ...(await kind.headers(message, target)) };
  const { timeoutMs } = deps.retry;
  const answer = await inTraceOf(claimed, () =>
    deps.sender.send({ url: target.url, headers, body, timeoutMs, signal }),
  );
  if ('refusal' in answer) return done({ status: null, error: answer.refusal, retry_after_ms: null });
  const { status, retry_after_ms } = answer;
  const error =
    status >= 200 && status < 300
      ? null
      : status >= 300 && status < 400
        ? `answered ${status}: redirects are not followed`
        : `answered ${status}`;
  return done({ status, error, retry_after_ms });
}

/** The trace of the run that the message is about, if it has one. */
function inTraceOf<T>({ head, target }: Claim, send: () => Promise<T>): Promise<T> {
  const { run_id: id, traceparent, tracestate, type, attempts } = head;
  const parent = id === null ? null : contextOfRun({ id, traceparent, tracestate });
  if (parent === null) return send();
  const attributes = {
    'cadenza.run.id': id ?? undefined,
    'cadenza.delivery.kind': target.kind,
    'cadenza.delivery.type': type,
    'cadenza.delivery.attempt': attempts,
  };
  return inSpan('deliver', { kind: SpanKind.PRODUCER, attributes }, send, { parent });
}

async function record(
  em: EntityManager,
  retry: RetryPolicy,
  { target, head }: Claim,
  outcome: Outcome,
): Promise<void> {
  // Locks the target before the delivery, like all code.
  const [row] = await em.execute<{ failures: number }[]>(
    // Without a lease it has been recorded, though the answer to that was lost.
    'select failures from delivery_target where id = ? and leased_until is not null for update',
    [target.id],
  );
  if (!row) return;
  const gone = outcome.status === 410;
  const givenUp = outcome.error !== null && (gone || head.expired);
  const pause = pauseMs(retry, {
    attempts: head.attempts,
    ageMs: head.age_ms,
    askedMs: outcome.retry_after_ms,
  });
  const retries = outcome.error !== null && !givenUp;
  await em.execute(
    `update delivery
        set status = ?, response_status = ?, error = ?, delivered_at = case when ? then clock_timestamp() end,
            next_attempt_at = case when ? then clock_timestamp() + ? * interval '1 millisecond' end,
            attempt_log = case when jsonb_array_length(attempt_log) < 50
                               then attempt_log || ?::jsonb else (attempt_log - 0) || ?::jsonb end
      where id = ? and status = 'pending'`,
    [
      outcome.error === null ? 'delivered' : givenUp ? 'failed' : 'pending',
      outcome.status,
      outcome.error,
      outcome.error === null,
      retries,
      pause,
      entry(outcome),
      entry(outcome),
      head.id,
    ],
  );
  const failures = outcome.error === null ? 0 : givenUp ? row.failures + 1 : row.failures;
  const reason: DisabledReason | null = gone ? 'gone' : failures >= retry.maxFailures ? 'failing' : null;
  await em.execute(
    `update delivery_target
        set failures = ?, leased_until = null, due_at = clock_timestamp() + ? * interval '1 millisecond',
            active = active and ?, disabled_reason = coalesce(?, disabled_reason),
            disabled_at = case when ? then disabled_at else clock_timestamp() end,
            failing_since = case when ? then coalesce(failing_since, clock_timestamp()) end, last_error = ?
      where id = ?`,
    [
      failures,
      retries ? pause : 0,
      reason === null,
      reason,
      reason === null,
      outcome.error !== null,
      outcome.error,
      target.id,
    ],
  );
}

function entry({ status, error, duration_ms }: Outcome): string {
  return JSON.stringify([{ at: new Date().toISOString(), status, error, duration_ms }]);
}
