/** What turns and tool calls of a language model share (docs/llm-agents.md). */
import type { Invoked, InvokeAgentInput, NewHumanTask } from '../../../contracts/activities.ts';
import type { ConversationRef, ToolLoop } from '../../../contracts/tool-loop.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import type { ChatFrame } from '../state.ts';

const PRIORITY = 50;

/** The input of `invokeAgent`, without what travels with it. */
export type AgentRequest = Omit<InvokeAgentInput, 'batch'>;

/** Calls an agent of any kind; the frame of the task holds what is under way. */
export type CallAgent = (execution: Execution, request: AgentRequest, task: Task) => Promise<Outcome>;

export function chatFrame(
  loop: ToolLoop,
  { agent_id = '', agent_version = '' }: Invoked,
  timeoutMs: number,
): ChatFrame {
  return {
    loop,
    agent: { agent_id, agent_version },
    turns: 0,
    allowed: {
      turns: loop.max_turns,
      tokens: loop.max_total_tokens,
      cost: loop.max_cost_usd,
      ms: timeoutMs,
    },
    usage: {},
    spent_ms: 0,
  };
}

/** Of an agent that is called by itself (domain/runs/service.ts). */
const INVOKED = '/do/0/invoke';

/** Whose tool calls people approve: the task, or the agent if it is called by itself. */
export function titleName({ start }: Execution, { ref, name }: Pick<Task, 'ref' | 'name'>): string {
  return start.workflow_id === null && ref === INVOKED ? start.name : name;
}

/** The step as an activity knows it. */
export function stepOf({
  ref,
  name,
  visit,
  attempt,
}: Task): Pick<AgentRequest, 'task' | 'name' | 'visit' | 'attempt'> {
  return { task: ref, name, visit, attempt };
}

export function conversationOf({ loop, from }: ChatFrame): ConversationRef {
  return { conversation: loop.conversation, ...(from ? { from } : {}) };
}

export function leftMs({ allowed, spent_ms: spentMs }: ChatFrame): number {
  return Math.max(1, allowed.ms - spentMs);
}

/** Sums all numbers. */
export function addUsage(chat: ChatFrame, usage: Record<string, unknown> | undefined): void {
  for (const [name, value] of Object.entries(usage ?? {}))
    if (typeof value === 'number') chat.usage[name] = (chat.usage[name] ?? 0) + value;
}

/** What all questions of a loop have in common. For the run's owner, unless somebody is named. */
export function humanTask(execution: Execution, own: Task, id: string): NewHumanTask {
  return {
    id,
    run_id: execution.start.run_id,
    task: own.ref,
    task_name: own.name,
    title: own.name,
    description: null,
    subject: null,
    form_schema: null,
    decisions: [],
    assignee: null,
    candidates: { users: [], roles: [], groups: [] },
    priority: PRIORITY,
    due_at: null,
    expires_at: null,
    quorum: null,
  };
}
