/**
 * The tool calls of one turn of a language model (docs/llm-agents.md#tools): each is a step, and they run in
 * parallel, bounded. A person approves those that need it. What a tool answers, and how it fails, is told to
 * the model; nothing in it is evaluated.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { isRecord } from '../../../contracts/is-record.ts';
import {
  MAX_ANSWER_LENGTH,
  type ApprovalRequest,
  type HumanTool,
  type LoopTool,
} from '../../../contracts/tool-loop.ts';
import { calling } from '../activities.ts';
import { throwIfCancelled } from '../cancellation.ts';
import type { Env, Execution, Outcome, Task } from '../execution.ts';
import { DslFault, fault, RunLimitFault } from '../fault.ts';
import { runStep } from '../run-task.ts';
import type { ChatFrame, ToolCall } from '../state.ts';
import { applied, askPerson, humanFrame, type Answer } from './ask-person.ts';
import {
  addUsage,
  conversationOf,
  humanTask,
  leftMs,
  stepOf,
  titleName,
  type AgentRequest,
  type CallAgent,
} from './chat.ts';
import { runChild } from './child.ts';
import { invoke, outcomeOf } from './invoke.ts';

/** Of the question of a model, as the title of a human task. */
const MAX_TITLE = 200;
const ASKED_BY_MODEL = 'A language model asks: ';

/** Settles when all calls have answered. Faults of tools are answers. */
export async function runToolCalls(
  execution: Execution,
  task: Task,
  request: AgentRequest,
  chat: ChatFrame,
  callAgent: CallAgent,
): Promise<void> {
  const open = (chat.calls ?? []).filter(({ answer }) => !answer);
  const count = Math.min(open.length, chat.loop.parallel);
  const scope = new CancellationScope();
  const before = chat.spent_ms;
  let spentMs = 0;
  let failure: Error | undefined;
  const inTurn = async (): Promise<void> => {
    try {
      await scope.run(async () => {
        let ownMs = 0;
        for (let call = open.shift(); call; call = open.shift()) {
          ownMs += await new OneCall(execution, task, request, chat, call, callAgent).run();
          spentMs = Math.max(spentMs, ownMs);
        }
      });
    } catch (error) {
      if (failure === undefined || (isCancellation(failure) && !isCancellation(error)))
        failure = error instanceof Error ? error : new Error('a tool call failed', { cause: error });
      scope.cancel();
    } finally {
      execution.strands(-1);
    }
  };
  await execution.journal.beforeFork(task.env.strand, count);
  execution.strands(count - 1);
  try {
    await Promise.all(Array.from({ length: count }, inTurn));
  } finally {
    execution.strands(1);
  }
  chat.spent_ms = before + spentMs;
  throwIfCancelled();
  if (failure !== undefined) throw failure;
}

class OneCall {
  readonly #execution: Execution;
  readonly #task: Task;
  readonly #request: AgentRequest;
  readonly #chat: ChatFrame;
  readonly #call: ToolCall;
  readonly #callAny: CallAgent;
  readonly #tool: LoopTool | undefined;
  #spentMs = 0;

  constructor(
    execution: Execution,
    task: Task,
    request: AgentRequest,
    chat: ChatFrame,
    call: ToolCall,
    callAgent: CallAgent,
  ) {
    this.#execution = execution;
    this.#task = task;
    this.#request = request;
    this.#chat = chat;
    this.#call = call;
    this.#callAny = callAgent;
    this.#tool = call.tool === null ? undefined : chat.loop.tools[call.tool];
  }

  /** Sets the answer. @returns how long the tool took, in milliseconds, without waiting for people */
  async run(): Promise<number> {
    const call = this.#call;
    const { env, ref } = this.#task;
    const frame = (call.frame ??= { raw: null });
    const own: Env = { ...env, strand: env.strand.branch(), toolDepth: (env.toolDepth ?? 0) + 1 };
    const step = {
      name: call.name,
      ref: `${ref}/tools/${this.#tool?.name ?? 'unknown'}`,
      type: 'tool',
      input: call.arguments,
    };
    try {
      const { output } = await runStep(this.#execution, step, frame, own, (task) => this.#work(task));
      this.#answer(textOf(output), false);
    } catch (error) {
      if (!(error instanceof DslFault) || error instanceof RunLimitFault) throw error;
      throwIfCancelled();
      this.#answer(`${error.error.title ?? 'Error'}: ${error.message}`, true);
    }
    delete call.frame;
    return this.#spentMs;
  }

  #answer(text: string, failed: boolean): void {
    const { id, name } = this.#call;
    const isLong = text.length > MAX_ANSWER_LENGTH;
    const rest = text.length - MAX_ANSWER_LENGTH;
    const cut = isLong ? `${text.slice(0, MAX_ANSWER_LENGTH)}\n(${rest} more characters are left out)` : text;
    this.#call.answer = { id, name, text: cut, failed };
  }

  async #work(own: Task): Promise<Outcome> {
    const { problem, approval } = this.#call;
    const tool = this.#tool;
    if (problem !== undefined || !tool)
      throw fault('validation', problem ?? 'There is no such tool', own.ref);
    if (approval && !this.#call.approved) await this.#approve(own, tool, approval);
    const gate = this.#execution.gate();
    if (gate) await gate;
    const { arguments: given } = this.#call;
    const input = tool.wrapped === true && isRecord(given) ? given['input'] : given;
    const { target } = tool;
    switch (target.kind) {
      case 'agent':
        return this.#timed(own, () => this.#callAgent(own, input));
      case 'mcp':
        return this.#timed(own, () => this.#callServer(own, input));
      case 'workflow': {
        const { id, revision, rights_of } = target;
        return this.#counted(own, () => runChild(this.#execution, own, { id, revision }, input, rights_of));
      }
      case 'human':
        return this.#ask(own, target.question, given);
    }
  }

  /** An agent that asks people, or is a workflow, may take as long as it takes. */
  async #timed(own: Task, run: () => Promise<Outcome>): Promise<Outcome> {
    const begun = Date.now();
    try {
      return await this.#counted(own, run);
    } finally {
      const { chat, remote, child } = own.frame;
      if (chat) this.#spentMs = chat.spent_ms;
      else if (!remote && !child) this.#spentMs = Date.now() - begun;
    }
  }

  /** Adds what a tool has used to what the loop has used. */
  async #counted(own: Task, run: () => Promise<Outcome>): Promise<Outcome> {
    try {
      const outcome = await run();
      const { usage } = outcome.data ?? {};
      if (isRecord(usage)) addUsage(this.#chat, usage);
      addUsage(this.#chat, outcome.childUsage);
      return outcome;
    } catch (error) {
      if (error instanceof DslFault && !(error instanceof RunLimitFault)) this.#addSpent(own, error);
      throw error;
    }
  }

  /** What a failed tool has used counts, too: that of its turns, of its child run, and of the call itself. */
  #addSpent({ frame }: Task, { spent: { usage }, childUsage }: DslFault): void {
    addUsage(this.#chat, frame.chat?.usage);
    addUsage(this.#chat, childUsage);
    if (isRecord(usage)) addUsage(this.#chat, usage);
  }

  #callAgent(own: Task, input: unknown): Promise<Outcome> {
    return this.#callAny(this.#execution, this.#requestOf(own, input), own);
  }

  /** Of the agent whose tool it is; the activity finds the tool in the conversation. */
  #requestOf(own: Task, input: unknown): AgentRequest {
    const { skill: _skill, session: _session, stream: _stream, ...agent } = this.#request;
    return {
      ...agent,
      ...stepOf(own),
      input,
      timeout_ms: leftMs(this.#chat),
      tool: { ...conversationOf(this.#chat), index: this.#call.tool ?? -1 },
    };
  }

  async #callServer(own: Task, input: unknown): Promise<Outcome> {
    const request = this.#requestOf(own, input);
    const result = await invoke(this.#execution, own, { input: request }, (batch) =>
      calling(request.timeout_ms, own.name).invokeAgent({ ...request, batch }),
    );
    return outcomeOf(this.#execution, own, result);
  }

  /** @throws DslFault if the person rejects the call, which the model is told */
  async #approve(own: Task, tool: LoopTool, approval: ApprovalRequest): Promise<void> {
    const decided = await this.#question(own, (id) => ({
      ...humanTask(this.#execution, own, id),
      title: `May ${titleName(this.#execution, this.#task)} call ${tool.name}?`.slice(0, MAX_TITLE),
      description: approval.description === '' ? null : approval.description,
      subject: { tool: tool.name, arguments: this.#call.arguments },
      form_schema: approval.form,
      decisions: [
        { id: 'approve', label: 'Approve', requires_comment: false },
        { id: 'reject', label: 'Reject', requires_comment: false },
      ],
      ...(tool.approvers ? { candidates: tool.approvers } : {}),
      context: [{ name: 'Conversation', value: approval.conversation }],
    }));
    if (decided.decision !== 'approve')
      throw fault('authorization', `A person rejected this call${commentOf(decided)}`, own.ref);
    const { payload } = decided;
    if (isRecord(payload) && payload['arguments'] !== undefined) this.#call.arguments = payload['arguments'];
    this.#call.approved = true;
  }

  async #ask(own: Task, tool: HumanTool, given: unknown): Promise<Outcome> {
    const { question, details } = isRecord(given) ? given : {};
    const text = String(question);
    // People see that no person has written it.
    const whole = `${ASKED_BY_MODEL}${text}`;
    const title = whole.length > MAX_TITLE ? `${whole.slice(0, MAX_TITLE - 2)} …` : whole;
    const answer = { type: 'string', title: 'Answer', minLength: 1 };
    const form = tool.form ?? { type: 'object', required: ['answer'], properties: { answer } };
    const decided = await this.#question(
      own,
      (id, expiresAt) => ({
        ...humanTask(this.#execution, own, id),
        title,
        description: whole === title ? null : text,
        subject: details ?? null,
        form_schema: form,
        decisions: [
          { id: 'answer', label: 'Answer', requires_comment: false },
          { id: 'reject', label: 'Decline', requires_comment: false },
        ],
        assignee: tool.assignee,
        candidates: tool.candidates,
        priority: tool.priority,
        expires_at: expiresAt,
      }),
      tool.expires_ms,
    );
    const { decision, payload, task_id: hitl_task_id } = decided;
    if (decision !== 'answer')
      throw fault('runtime', `The person declined to answer${commentOf(decided)}`, own.ref);
    const output = tool.form === null && isRecord(payload) ? payload['answer'] : payload;
    return { output, data: { hitl_task_id, decision } };
  }

  async #question(
    own: Task,
    task: (id: string, expiresAt: string | null) => ReturnType<typeof humanTask>,
    expiresMs: number | null = null,
  ): Promise<Answer> {
    const human = (own.frame.human ??= humanFrame());
    const expires = expiresMs === null ? null : human.created_at + expiresMs;
    const decided = await askPerson(this.#execution, own, human, {
      task: ({ id }) => task(id, expires === null ? null : new Date(expires).toISOString()),
      marks: expires === null ? [] : [{ kind: 'expire', at: expires }],
      onExpiry: 'fault',
      // One step can ask for an approval and then for an answer.
      ...(this.#call.approved ? { round: 2 } : {}),
    });
    applied(this.#execution, own, decided);
    delete own.frame.human;
    return decided;
  }
}

function commentOf({ comment }: Answer): string {
  return comment === null || comment === '' ? '.' : `: ${comment}`;
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}
