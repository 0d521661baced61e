/** Follows `/events` while somebody is logged in, and tells the lists which records have changed. */
import { effect, signal } from '@preact/signals';

import { ApiError, type CloudEvent } from '../../../client/index.ts';
import { client } from './api.ts';
import { mayPass } from './query.ts';
import { user } from './session.ts';
import { isVisible } from './visible.ts';

export type Change = { kind: 'task' | 'run'; id: string };
export type Connection = 'connecting' | 'live' | 'reconnecting' | 'off';

export const connection = signal<Connection>('connecting');
/** When the connection was last known to be live. */
export const liveUntil = signal<number | null>(null);

const listeners = new Set<(change: Change) => void>();
const reconnected = new Set<() => void>();

/** Events of one record within this time are read once. */
const COALESCE_MS = 60;
const TYPES = 'io.cadenza.hitl,io.serverlessworkflow.workflow,io.cadenza.workflow';

/** @returns what ends the subscription */
export function onChange(listener: (change: Change) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Called when events may have been missed. @returns what ends the subscription */
export function onReconnect(listener: () => void): () => void {
  reconnected.add(listener);
  return () => reconnected.delete(listener);
}

effect(() => {
  const id = user.value?.id;
  if (id === undefined || !isVisible.value) return undefined;
  const abort = new AbortController();
  void follow(abort.signal);
  return () => abort.abort();
});

async function follow(signal: AbortSignal): Promise<void> {
  const pending = new Map<string, ReturnType<typeof setTimeout>>();
  const notify = (change: Change) => {
    const key = `${change.kind} ${change.id}`;
    if (pending.has(key)) return;
    pending.set(
      key,
      setTimeout(() => {
        pending.delete(key);
        for (const listener of listeners) listener(change);
      }, COALESCE_MS),
    );
  };
  let opened = false;
  const onState = (state: 'open' | 'reconnecting') => {
    if (state === 'reconnecting') {
      if (connection.value === 'live') liveUntil.value = Date.now();
      connection.value = 'reconnecting';
      return;
    }
    connection.value = 'live';
    // The stream resumes after its last event. A first connection, also of a tab that was hidden, comes late.
    if (!opened) for (const listener of reconnected) listener();
    opened = true;
  };
  try {
    for await (const { data } of client.events('streamEvents', { query: { types: TYPES }, signal, onState }))
      for (const change of changesIn(data)) notify(change);
  } catch (error) {
    connection.value = 'off';
    if (!(error instanceof ApiError) || mayPass(error)) throw error;
  }
}

/** The records that an event is about. */
function changesIn(event: CloudEvent): Change[] {
  const data = typeof event.data === 'object' && event.data !== null ? { ...event.data } : {};
  const taskId = 'hitl_task_id' in data ? data.hitl_task_id : undefined;
  const runId = event['runid'];
  return [
    ...(typeof taskId === 'string' ? [{ kind: 'task' as const, id: taskId }] : []),
    ...(typeof runId === 'string' ? [{ kind: 'run' as const, id: runId }] : []),
  ];
}
