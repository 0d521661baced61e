import { describe, expect, test } from '@jest/globals';
import { presentPolled } from '../../api/routes/jobs/schemas.ts';
import { parseEnv } from '../../config/env.ts';
import { shownErrorType, standardError } from '../../contracts/dsl-error.ts';
import { formatTrace, formatTraceparent, parseTrace, parseTraceparent } from '../../tracing/context.ts';
import { spanOfRun, traceOfRun, traceTextsOfRun } from '../../tracing/run-context.ts';
import { usageAttributes } from '../../tracing/gen-ai.ts';
import { runSpanId, takeChosenId, taskSpanId, withSpanId } from '../../tracing/span-ids.ts';

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const run = { id: '019aa0f0-0000-7000-8000-000000000001', traceparent: TRACEPARENT, tracestate: null };

describe('ids of spans', () => {
  test('follow from run, task and visit, and differ', () => {
    const ids = [
      runSpanId(run.id),
      taskSpanId(run.id, { reference: '/do/0/a', visit: 1 }),
      taskSpanId(run.id, { reference: '/do/0/a', visit: 2 }),
      taskSpanId(run.id, { reference: '/do/1/a', visit: 1 }),
      runSpanId('019aa0f0-0000-7000-8000-000000000002'),
    ];
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(taskSpanId(run.id, { reference: '/do/0/a', visit: 1 })).toBe(ids[1]);
  });

  test('are for one span only', () => {
    expect(withSpanId('00f067aa0ba902b7', takeChosenId)).toBe('00f067aa0ba902b7');
    expect(withSpanId('00f067aa0ba902b7', () => [takeChosenId(), takeChosenId()][1])).toBeNull();
    expect(takeChosenId()).toBeNull();
  });
});

test.each([
  TRACEPARENT.replace('00-4', '01-4'),
  TRACEPARENT.toUpperCase(),
  `${TRACEPARENT}-more`,
  TRACEPARENT.replaceAll(/[1-9a-f]/g, '0'),
  '',
])('%j is no traceparent', (text) => {
  expect(parseTraceparent(text)).toBeNull();
  expect(spanOfRun({ ...run, traceparent: text })).toBeNull();
});

test('the place of a run and of its tasks is in the trace that started it', () => {
  const parsed = parseTraceparent(TRACEPARENT);
  expect(parsed && formatTraceparent(parsed)).toBe(TRACEPARENT);
  expect(spanOfRun(run)).toMatchObject({ traceId: parsed?.traceId, spanId: runSpanId(run.id) });
  const task = { reference: '/do/0/a', visit: 3 };
  expect(traceTextsOfRun(run, task)).toEqual({
    traceparent: `00-${parsed?.traceId}-${taskSpanId(run.id, task)}-01`,
    tracestate: null,
  });
  expect(traceOfRun(TRACEPARENT.replace(/01$/, '00'))).toEqual({ id: parsed?.traceId, isSampled: false });
});

test('a state of the trace goes with it, and one that is too long or malformed is left out', () => {
  const of = (tracestate: unknown) => {
    const span = parseTrace({ traceparent: TRACEPARENT, tracestate });
    return span && formatTrace(span);
  };
  expect(of('vendor=a1,other@x=b2')).toEqual({
    traceparent: TRACEPARENT,
    tracestate: 'vendor=a1,other@x=b2',
  });
  for (const bad of [`vendor=${'x'.repeat(506)}`, 'no state', '', 7, null])
    expect([bad, of(bad)]).toEqual([bad, { traceparent: TRACEPARENT, tracestate: null }]);
  expect(of(`vendor=${'x'.repeat(250)}`)?.tracestate).toHaveLength(257);
  expect(parseTrace({ traceparent: 'x', tracestate: 'vendor=1' })).toBeNull();
});

test('a job of an external worker has the trace of its task, if there is one', () => {
  const job = {
    id: run.id,
    agent_id: run.id,
    agent_version: '1.0.0',
    run_id: run.id,
    key: 'k',
    input: {},
    configuration: {},
    secrets_of: run.id,
    task: '/do/0/a',
    visit: 1,
    attempt: 1,
    lease_expires_at: new Date().toISOString(),
    lease_seconds: 60,
    is_transferred: false,
  };
  const tracestate = 'vendor=1';
  expect(presentPolled({ ...job, traceparent: TRACEPARENT, tracestate }, undefined)).toMatchObject(
    traceTextsOfRun({ ...run, tracestate }, { reference: '/do/0/a', visit: 1 }),
  );
  const without = presentPolled({ ...job, traceparent: null, tracestate }, undefined);
  expect(without).not.toHaveProperty('traceparent');
  expect(without).not.toHaveProperty('tracestate');
});

test('of errors the standard name is shown, of outputs why a model has ended', () => {
  expect(shownErrorType(standardError('timeout', 'with a secret'))).toBe('timeout');
  expect(shownErrorType({ type: 'https://example.com/secret' })).toBe('other');
  const usage = { input_tokens: 3, output_tokens: 4, model: 'm', cost_usd: 0.5 };
  const shown = usageAttributes(usage, { finish_reason: 'stop', text: 'a secret' });
  expect(shown).toMatchObject({ 'gen_ai.usage.input_tokens': 3, 'gen_ai.response.finish_reasons': ['stop'] });
  expect(JSON.stringify(shown)).not.toContain('secret');
});

test.each([
  ['TRACE_URL_TEMPLATE', 'https://traces.example.com/'],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_TRACES_SAMPLER_ARG', '2'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector'],
])('%s=%s is refused', (name, value) => {
  expect(parseEnv({ [name]: value })).toEqual({ problems: [{ name, message: expect.any(String) }] });
});
