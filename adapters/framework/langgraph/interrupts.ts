/** Interrupts of a graph: what a person is asked, and how the decision resumes the graph. */
import type { RemoteAsk, RemoteReply } from '../../../contracts/activities.ts';
import { fault } from '../../../contracts/fault.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { askOf } from '../../a2a/question.ts';
import type { Words } from '../../http/message.ts';

const MAX_ACTIONS = 20;
const LABELS: Readonly<Record<string, string>> = { approve: 'Approve', edit: 'Edit', reject: 'Reject' };

export interface GraphInterrupt {
  /** Empty for a server that gives none, and for a graph that stops before a node. */
  id: string;
  value: unknown;
  /** The node before or in which the graph waits. */
  node: string;
  /** The graph stops before the node, and only goes on. */
  isBreakpoint: boolean;
}

/** What creates the run that goes on. */
export interface Resumption {
  input?: Record<string, unknown> | null;
  command?: { resume: unknown };
}

/** Those that the thread waits for, in the order of its tasks. */
export function interruptsIn(state: unknown): GraphInterrupt[] {
  const { tasks, next } = isRecord(state) ? state : {};
  const found = (Array.isArray(tasks) ? (tasks as unknown[]) : []).flatMap((task): GraphInterrupt[] => {
    const { interrupts, name } = isRecord(task) ? task : {};
    return (Array.isArray(interrupts) ? (interrupts as unknown[]) : []).flatMap((interrupt) => {
      if (!isRecord(interrupt)) return [];
      const id = interrupt['id'] ?? interrupt['interrupt_id'];
      return [
        {
          id: typeof id === 'string' ? id : '',
          value: interrupt['value'],
          node: String(name),
          isBreakpoint: false,
        },
      ];
    });
  });
  if (found.length > 0) return found;
  const [node] = Array.isArray(next) ? (next as unknown[]) : [];
  return typeof node === 'string' ? [{ id: '', value: null, node, isBreakpoint: true }] : [];
}

/**
 * The interrupt's value is the question: a text, or an object with `question`, `message` or `description`,
 * with a form as questions of A2A may have it. LangChain's requests to review tool calls get their own
 * decisions.
 */
export function askOfGraph(
  interrupt: GraphInterrupt,
  threadId: string,
  agentName: string,
  words: Words,
): RemoteAsk {
  const { id, value, node } = interrupt;
  const remote = { task_id: threadId, context_id: id, mark: id === '' ? node : id };
  if (interrupt.isBreakpoint) {
    const request = {
      type: 'hitl_request',
      title: `${agentName} waits before ${node}`,
      decisions: [
        { id: 'continue', label: 'Continue' },
        { id: 'reject', label: 'Stop here' },
      ],
    };
    return askOf({ text: '', data: [request], subject: null }, remote, agentName, words);
  }
  const review = reviewIn(value);
  if (review !== null) return askOf({ text: '', data: [review], subject: null }, remote, agentName, words);
  const text = textOf(value);
  const isOnlyText = typeof value === 'string';
  const data = isRecord(value) ? [value] : [];
  return askOf({ text, data, subject: isOnlyText ? null : (value ?? null) }, remote, agentName, words);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  if (!isRecord(value)) return '';
  const text = value['question'] ?? value['message'] ?? value['description'];
  return typeof text === 'string' ? text.trim() : '';
}

/** LangChain's `HumanInTheLoopMiddleware`: `{action_requests, review_configs}`. */
function reviewIn(value: unknown): Record<string, unknown> | null {
  const actions = actionsIn(value);
  if (actions.length === 0) return null;
  const configs = isRecord(value) && Array.isArray(value['review_configs']) ? value['review_configs'] : [];
  const allowed = configs.map((config: unknown): unknown[] =>
    isRecord(config) && Array.isArray(config['allowed_decisions']) ? config['allowed_decisions'] : [],
  );
  const may = (decision: string): boolean => allowed.every((decisions) => decisions.includes(decision));
  const offered = ['approve', ...(actions.length === 1 ? ['edit'] : []), 'reject'].filter(may);
  const names = actions.map(({ name }) => name).join(', ');
  return {
    type: 'hitl_request',
    id: 'review',
    title: `Review the call of ${names}`,
    subject: actions,
    decisions: offered.map((id) => ({ id, label: LABELS[id] ?? id })),
    ...(offered.includes('edit')
      ? {
          form_schema: {
            type: 'object',
            properties: { args: { type: 'object', title: 'Other arguments, to edit the call' } },
          },
        }
      : {}),
  };
}

interface Action {
  name: string;
  args: unknown;
  description?: unknown;
}

function actionsIn(value: unknown): Action[] {
  const requests = isRecord(value) ? value['action_requests'] : null;
  if (!Array.isArray(requests) || requests.length > MAX_ACTIONS) return [];
  return requests.flatMap((request: unknown): Action[] => {
    const { name, args, arguments: older, description } = isRecord(request) ? request : {};
    if (typeof name !== 'string') return [];
    return [{ name, args: args ?? older ?? {}, ...(description === undefined ? {} : { description }) }];
  });
}

/** Throws `Fault` if the question was rejected, or nobody will answer it. */
export function answerOf(
  { remote, decision }: RemoteReply,
  interrupt: GraphInterrupt,
  agentName: string,
): Resumption {
  const refused = (): Error => {
    const comment = decision?.comment ?? '';
    return fault(
      'authorization',
      `The question of ${agentName} was not answered${comment === '' ? '' : `: ${comment}`}`,
    );
  };
  if (decision === null) throw refused();
  const { decision: chosen, payload, comment } = decision;
  if (interrupt.isBreakpoint) {
    if (chosen === 'reject') throw refused();
    return { input: null };
  }
  // Others of the same thread go on waiting.
  const resume = (value: unknown): Resumption => ({
    command: { resume: interrupt.id === '' ? value : { [interrupt.id]: value } },
  });
  const { answer } = remote;
  if (answer.as === 'decision') {
    const actions = actionsIn(interrupt.value);
    if (answer.request_id === 'review' && actions.length > 0)
      return resume({ decisions: actions.map((action) => reviewed(action, chosen, payload, comment)) });
    return resume({
      ...(answer.request_id === null ? {} : { id: answer.request_id }),
      decision: chosen,
      ...(payload === null || payload === undefined ? {} : { payload }),
      ...(comment === null ? {} : { comment }),
    });
  }
  if (chosen === 'reject') throw refused();
  if (answer.as === 'data') return resume(payload);
  return resume((isRecord(payload) ? payload['text'] : payload) ?? comment ?? '');
}

function reviewed(
  { name, args }: Action,
  decision: string,
  payload: unknown,
  comment: string | null,
): Record<string, unknown> {
  if (decision === 'edit') {
    const edited = isRecord(payload) && isRecord(payload['args']) ? payload['args'] : args;
    return { type: 'edit', edited_action: { name, args: edited } };
  }
  return { type: decision, ...(decision === 'reject' && comment !== null ? { message: comment } : {}) };
}
