/** A remote task as built from its events: A2A 1.0 §3.1.2 "SendStreamingMessage". */
import {
  TaskState,
  type Artifact,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
} from '@a2a-js/sdk';

export interface TaskView {
  /** Null until the agent has named its task. */
  readonly task: Task | null;
  /** Artifacts that arrived in pieces; their texts are joined without a break. */
  readonly pieced: ReadonlySet<string>;
  /** Events may have been missed since the last full task. */
  readonly stale: boolean;
  apply(event: StreamResponse): void;
  replace(task: Task): void;
  missed(): void;
}

/**
 * `losesAppend`: artifact updates do not say whether they replace or append, because the SDK's client for
 * REST of 0.3 drops that field. A second update for an artifact then marks the task as stale.
 */
export function createTaskView({ losesAppend = false }: { losesAppend?: boolean } = {}): TaskView {
  let task: Task | null = null;
  let stale = false;
  const pieced = new Set<string>();
  const begun = (id: string, contextId: string): Task =>
    (task ??= { id, contextId, status: undefined, artifacts: [], history: [], metadata: undefined });
  const replace = (whole: Task): void => {
    task = whole;
    stale = false;
  };

  return {
    get task() {
      return task;
    },
    get stale() {
      return stale;
    },
    pieced,
    replace,
    missed() {
      stale = true;
    },
    apply({ payload }) {
      switch (payload?.$case) {
        case 'task':
          return replace(payload.value);
        case 'statusUpdate': {
          const { taskId, contextId, status } = payload.value;
          begun(taskId, contextId).status = status;
          return;
        }
        case 'artifactUpdate': {
          const { taskId, contextId, append, artifact } = payload.value;
          if (artifact === undefined) return;
          const again =
            losesAppend &&
            task?.artifacts.some(({ artifactId }) => artifactId === artifact.artifactId) === true;
          if (append || again) pieced.add(artifact.artifactId);
          if (again) stale = true;
          put(begun(taskId, contextId), payload.value, artifact);
          return;
        }
        case 'message':
        case undefined:
          return;
        default:
          payload satisfies never;
      }
    },
  };
}

function put(task: Task, { append }: TaskArtifactUpdateEvent, artifact: Artifact): void {
  const index = task.artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const known = task.artifacts[index];
  if (known === undefined) task.artifacts.push({ ...artifact, parts: [...artifact.parts] });
  else if (append) known.parts.push(...artifact.parts);
  else task.artifacts[index] = { ...artifact, parts: [...artifact.parts] };
}

const TERMINAL: ReadonlySet<TaskState> = new Set([
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED,
]);

export function isTerminal(task: Task): boolean {
  return TERMINAL.has(stateOf(task));
}

/** Whether the task waits for us. */
export function isAsking(task: Task): boolean {
  return [TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED].includes(stateOf(task));
}

export function stateOf(task: Task): TaskState {
  return task.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED;
}

/** Identifies a question; unchanged while the agent shows the same one. */
export function markOf(task: Task): string {
  return `${task.status?.message?.messageId ?? ''} ${task.status?.timestamp ?? ''}`.trim();
}
