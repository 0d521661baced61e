/** Language models with tools: opens the loop, makes its turns, and calls its tools (docs/llm-agents.md). */
import { agentKind } from '../contracts/agent-configuration.ts';
import { llmConfiguration, type LlmConfiguration } from '../contracts/agent-kinds/llm.ts';
import type { InvokeAgentInput, Invoked } from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import { isRecord } from '../contracts/is-record.ts';
import { MODEL_KINDS } from '../contracts/tool-loop.ts';
import type { ModelTurn, ToolRef, TurnRequest, TurnStep } from '../contracts/tool-loop.ts';
import { callMcpTool, listMcpTools } from '../adapters/mcp/agent-tools.ts';
import { parseConfiguration } from '../adapters/call-settings.ts';
import { messageTextOf } from '../adapters/llm/llm-files.ts';
import type { EntityManager } from '../db/orm.ts';
import {
  beginTurn,
  openConversation,
  readConversation,
  storeTurn,
  type Conversation,
} from '../domain/conversations/conversation.ts';
import { checkRequests } from '../domain/conversations/requests.ts';
import { loopTool, resolveTools, type StoredTool } from '../domain/conversations/tools.ts';
import type { AgentResult, ChatMessage, ModelTurnCall, PinnedAgent } from '../domain/ports.ts';
import { describeViolations, violations } from '../language/schema/validate-json.ts';
import type { ActivityDeps } from './deps.ts';
import type { Calling } from './invocation.ts';

const MAX_TURNS = 10;
const PARALLEL = 8;

type At = Pick<InvokeAgentInput, 'run_id' | 'task' | 'visit'>;

/** Whether the call begins a loop, instead of being one call of the model. @throws Fault (configuration) */
export function beginsLoop(agent: PinnedAgent, { session }: InvokeAgentInput): boolean {
  if (MODEL_KINDS.has(agentKind(agent))) {
    const { tools } = agent.configuration;
    return session !== undefined || (Array.isArray(tools) && tools.length > 0);
  }
  if (session === undefined) return false;
  throw fault('configuration', `The agent ${agent.name} is no language model, and has no sessions`);
}

/** Fixes the tools and stores the input. */
export async function openLoop(
  deps: ActivityDeps,
  input: InvokeAgentInput,
  agent: PinnedAgent,
  calling: Calling,
): Promise<NonNullable<Invoked['loop']>> {
  const configuration = parseConfiguration(llmConfiguration, agent.configuration);
  const call = {
    ...calling,
    timeoutMs: input.timeout_ms,
    secret: (name: string) => deps.secret(agent.owner_id, name),
  };
  const em = deps.orm.em.fork();
  const { run_id, task, visit, session } = input;
  const finding = { ownerId: agent.owner_id, reader: () => ownerOfRun(em, run_id) };
  const tools = await resolveTools(em, finding, configuration.tools ?? [], (server, only) =>
    listMcpTools(deps.adapters, server, only, call),
  );
  const conversation = await deps.orm.em
    .fork()
    .transactional((inner) =>
      openConversation(
        inner,
        { agent_id: agent.id, input: input.input, tools, session },
        { run_id, task, visit },
      ),
    );
  return { conversation, tools: tools.map(loopTool), ...boundsOf(configuration) };
}

/** Who sees the faults of a call. */
async function ownerOfRun(em: EntityManager, runId: string): Promise<string> {
  const [row] = await em.execute<{ owner_id: string }[]>('select owner_id from run where id = ?', [runId]);
  if (row === undefined) throw new Error('the run is gone');
  return row.owner_id;
}

function boundsOf(configuration: LlmConfiguration) {
  const { max_turns, max_total_tokens, max_cost_usd, on_exceed, parallel_tools } = configuration;
  return {
    max_turns: max_turns ?? MAX_TURNS,
    max_total_tokens: max_total_tokens ?? null,
    max_cost_usd: max_cost_usd ?? null,
    on_exceed: on_exceed ?? ('stop' as const),
    parallel: parallel_tools ?? PARALLEL,
  };
}

export async function toolOf(
  deps: Pick<ActivityDeps, 'orm'>,
  { run_id, task, visit }: At,
  ref: ToolRef,
): Promise<StoredTool> {
  const { tools } = await readConversation(deps.orm.em.fork(), ref, { run_id, task, visit });
  const tool = tools[ref.index];
  if (!tool) throw fault('runtime', 'The loop has no such tool');
  return tool;
}

/** Calls a tool of an MCP server, with the secrets of the agent's owner. */
export async function callServerTool(
  deps: ActivityDeps,
  input: InvokeAgentInput,
  target: Extract<StoredTool['target'], { kind: 'mcp' }>,
  calling: Calling,
): Promise<Invoked> {
  const { output, usage } = await callMcpTool(deps.adapters, target.server, target.tool, input.input, {
    ...calling,
    timeoutMs: input.timeout_ms,
    secret: (name) => deps.secret(target.rights_of, name),
  });
  return { output, ...(usage ? { usage: { ...usage } } : {}) };
}

export interface OpenTurn {
  conversation: Conversation;
  request: TurnRequest;
  attempts: number;
  call: ModelTurnCall;
}

/** Begins a turn; or gives its outcome, if an earlier attempt has stored it. */
export async function beginModelTurn(
  deps: ActivityDeps,
  { run_id, task, visit }: At,
  step: TurnStep,
): Promise<{ done: Invoked } | { open: OpenTurn }> {
  const em = deps.orm.em.fork();
  const conversation = await readConversation(em, step, { run_id, task, visit });
  const { attempts, outcome, turns } = await beginTurn(em, conversation.id, step.turn);
  if (outcome) return { done: outcome };
  const tools = conversation.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  const call = { history: conversation.history, turns, tools };
  return { open: { conversation, request: step.turn, attempts, call } };
}

/** Checks what the model asks for, and stores the turn. */
export async function endModelTurn(
  deps: ActivityDeps,
  { conversation, request, attempts, call }: OpenTurn,
  agent: PinnedAgent,
  result: AgentResult,
): Promise<Pick<Invoked, 'output' | 'turn' | 'usage' | 'warnings'>> {
  const { turn: answered, busy, output } = result;
  if (busy) return { output: null, turn: { text: '', requests: [], busy } };
  if (!answered) throw new Error('the adapter gave no turn');
  const turn: ModelTurn = { text: answered.text, requests: [] };
  const lines = transcript(conversation, call, answered.text);
  turn.requests = checkRequests(conversation.tools, answered.calls, lines);
  const isFinal = turn.requests.length === 0;
  const problem = isFinal ? (answered.problem ?? problemOf(agent, output)) : undefined;
  if (problem !== undefined) turn.problem = problem;
  const warnings = [
    ...(result.warnings ?? []),
    ...(request.number === 1 && isUnbounded(agent, result) ? [NO_PRICE] : []),
  ];
  const outcome: Invoked = {
    output: isFinal && problem === undefined ? output : null,
    turn,
    ...(result.usage ? { usage: { ...result.usage, requests: attempts } } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
  const stored = { messages: answered.messages, outcome };
  const memory = isFinal && problem === undefined ? exchange(conversation, answered.text) : null;
  return storeTurn(deps.orm.em.fork(), conversation, request.number, stored, memory);
}

const NO_PRICE = 'max_cost_usd does not limit this model, because nobody knows its price';

function isUnbounded({ configuration }: PinnedAgent, { usage }: AgentResult): boolean {
  return configuration['max_cost_usd'] !== undefined && usage?.['cost_usd'] === null;
}

function problemOf(agent: PinnedAgent, output: unknown): string | undefined {
  const found = violations(agent.output_schema, output);
  return found.length === 0 ? undefined : describeViolations(found);
}

/** What a session keeps of a conversation: the input and the last answer, without the tools between. */
function exchange({ input }: Conversation, answer: string): ChatMessage[] {
  return [
    { role: 'user', text: textOf(input) },
    { role: 'assistant', text: answer },
  ];
}

const MAX_LINES = 12;
/** All lines together fit into the context of a human task, whatever the language. */
const MAX_LINE = 1_500;
// oxlint-disable-next-line no-control-regex -- in JSON each takes six characters, and nobody sees them
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** The last messages, for people who approve a call. */
function transcript({ input, history }: Conversation, { turns }: ModelTurnCall, last: string) {
  const lines: { role: string; text: string }[] = [...history, { role: 'user', text: textOf(input) }];
  for (const { answers, repair, messages } of turns) {
    for (const { name, text } of answers) lines.push({ role: `tool ${name}`, text });
    if (repair !== null) lines.push({ role: 'user', text: repair });
    for (const message of messages ?? []) lines.push({ role: 'assistant', text: textOfMessage(message) });
  }
  lines.push({ role: 'assistant', text: last });
  return lines
    .map(({ role, text }) => ({ role, text: text.replaceAll(UNSEEN, '') }))
    .filter(({ text }) => text !== '')
    .slice(-MAX_LINES)
    .map(({ role, text }) => ({
      role,
      text: text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)} …` : text,
    }));
}

function textOfMessage(message: unknown): string {
  const content = isRecord(message) ? message['content'] : null;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => {
      if (!isRecord(part)) return '';
      if (part['type'] === 'tool-call')
        return `calls ${String(part['toolName'])} with ${JSON.stringify(part['input'])}`;
      return part['type'] === 'text' ? String(part['text']) : '';
    })
    .filter((text) => text !== '')
    .join('\n');
}

/** The text of an input as people read it. */
function textOf(input: unknown): string {
  if (typeof input === 'string') return input;
  if (isRecord(input)) {
    for (const key of ['prompt', 'message'])
      if (typeof input[key] === 'string' && Object.keys(input).length === 1) return input[key];
  }
  return messageTextOf(input) ?? JSON.stringify(input ?? null);
}
