/** A trace for tests of what goes on to counterparts; nothing is recorded or exported. */
import { context, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { contextOfCaller, inContext } from '../../tracing/context.ts';

/** What counterparts get. */
export const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** For this test file. */
export function inTrace<T>(work: () => T): T {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return inContext(contextOfCaller({ traceparent: TRACEPARENT }), work);
}
