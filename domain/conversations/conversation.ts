/**
 * The messages of one loop of a language model (docs/llm-agents.md). They stay in the database: the run's
 * workflow has the id of the conversation, and the answers of the tools until the model has them. Each turn
 * is stored once, whoever makes it.
 */
import { v7 as uuidv7 } from 'uuid';
import type { Invoked } from '../../contracts/activities.ts';
import { fault } from '../../contracts/fault.ts';
import type { ConversationOrigin, ConversationRef, TurnRequest } from '../../contracts/tool-loop.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { ChatMessage, TurnMessages } from '../ports.ts';
import { storable, storableJson } from '../storable.ts';
import { holdAgain, holdSession, remember, type Holder } from './sessions.ts';
import type { StoredTool } from './tools.ts';

/** Of all messages of one loop, in characters of JSON. */
const MAX_CONVERSATION = 4 * 1024 * 1024;

export interface Conversation {
  id: string;
  agent_id: string;
  session_id: string | null;
  input: unknown;
  tools: StoredTool[];
  history: ChatMessage[];
}

/** @returns the id of the new conversation. @throws Fault if another call continues the session */
export async function openConversation(
  em: EntityManager,
  given: { agent_id: string; input: unknown; tools: readonly StoredTool[]; session: string | undefined },
  holder: Holder,
): Promise<string> {
  const id = uuidv7();
  const session =
    given.session === undefined
      ? null
      : await holdSession(em, given.agent_id, storable(given.session), holder);
  await em.execute(
    `insert into conversation (id, run_id, task, visit, agent_id, session_id, input, tools, history)
     values (?, ?, ?, ?, ?, ?, ?::json, ?::json, ?::json)`,
    [
      id,
      holder.run_id,
      holder.task,
      holder.visit,
      given.agent_id,
      session?.id ?? null,
      storableJson(given.input ?? null),
      storableJson(given.tools),
      JSON.stringify(session?.history ?? []),
    ],
  );
  return id;
}

/**
 * The conversation of a step. The first step of a retry copies what the retried run had. @throws Fault if it
 * is gone
 */
export async function readConversation(
  em: EntityManager,
  { conversation, from }: ConversationRef,
  holder: Holder,
): Promise<Conversation> {
  const found = await find(em, conversation);
  if (found) return found;
  if (from) await em.transactional((inner) => copy(inner, conversation, from, holder));
  const copied = await find(em, conversation);
  if (!copied)
    throw fault('runtime', 'The conversation is gone with the run that had it: start a new run instead');
  return copied;
}

async function find(em: EntityManager, id: string): Promise<Conversation | undefined> {
  const [row] = await em.execute<Conversation[]>(
    `select id, agent_id, session_id, input, tools, history from conversation where id = ?`,
    [id],
  );
  return row;
}

async function copy(em: EntityManager, id: string, from: ConversationOrigin, step: Holder): Promise<void> {
  const { task = step.task, visit = step.visit } = from;
  const holder = { run_id: step.run_id, task, visit };
  const [made] = await em.execute<{ session_id: string | null }[]>(
    `insert into conversation (id, run_id, task, visit, agent_id, session_id, input, tools, history)
     select ?, ?, ?, ?, agent_id, session_id, input, tools, history from conversation where id = ?
     on conflict do nothing returning session_id`,
    [id, holder.run_id, task, visit, from.conversation],
  );
  if (!made) return;
  if (made.session_id !== null) await holdAgain(em, made.session_id, holder);
  await em.execute(
    `insert into conversation_turn
       (conversation_id, turn, attempts, answers, repair, messages, outcome, begun_at, finished_at)
     select ?, turn, attempts, answers, repair, messages, outcome, begun_at, finished_at
       from conversation_turn where conversation_id = ? and turn <= ?`,
    [id, from.conversation, from.turns],
  );
}

export interface BegunTurn {
  /** How often this turn was begun, this time included. */
  attempts: number;
  /** What an earlier attempt has stored. */
  outcome: Invoked | null;
  /** All turns, this one last. */
  turns: TurnMessages[];
}

/** @throws Fault if the conversation has grown too long */
export async function beginTurn(
  em: EntityManager,
  id: string,
  { number, answers = [], repair }: TurnRequest,
): Promise<BegunTurn> {
  const [begun] = await em.execute<{ attempts: number; outcome: Invoked | null }[]>(
    `insert into conversation_turn as t (conversation_id, turn, answers, repair)
     values (?, ?, ?::json, ?)
     on conflict (conversation_id, turn) do update set attempts = t.attempts + 1
     returning attempts, outcome`,
    [id, number, storableJson(answers), repair === undefined ? null : storable(repair)],
  );
  const turns = await em.execute<TurnMessages[]>(
    `select answers, repair, messages from conversation_turn
      where conversation_id = ? and turn <= ? order by turn`,
    [id, number],
  );
  const characters = JSON.stringify(turns).length;
  if (characters > MAX_CONVERSATION)
    throw fault(
      'runtime',
      `limit exceeded: the conversation has ${characters} characters, and may have ${MAX_CONVERSATION}`,
    );
  return { attempts: begun?.attempts ?? 1, outcome: begun?.outcome ?? null, turns };
}

/** Whether an earlier attempt has stored the turn. */
export async function isTurnStored(em: EntityManager, id: string, number: number): Promise<boolean> {
  const stored = await em.execute<object[]>(
    'select from conversation_turn where conversation_id = ? and turn = ? and outcome is not null',
    [id, number],
  );
  return stored.length > 0;
}

const NOT_REMEMBERED =
  'The session does not remember this answer, because its call had ended, or another one continues ' +
  'the session';

/**
 * Stores a turn, unless another attempt has stored it; then that one counts. `said`: what the session keeps,
 * if the conversation ends.
 */
export async function storeTurn(
  em: EntityManager,
  conversation: Pick<Conversation, 'id' | 'session_id'>,
  turn: number,
  { messages, outcome }: { messages: readonly unknown[]; outcome: Invoked },
  said: readonly ChatMessage[] | null,
): Promise<Invoked> {
  const { id, session_id: sessionId } = conversation;
  return em.transactional(async (inner) => {
    const [row] = await inner.execute<{ outcome: Invoked | null }[]>(
      `select outcome from conversation_turn where conversation_id = ? and turn = ? for update`,
      [id, turn],
    );
    if (row?.outcome) return row.outcome;
    const isRemembered = said === null || sessionId === null || (await remember(inner, sessionId, id, said));
    const stored = isRemembered
      ? outcome
      : { ...outcome, warnings: [...(outcome.warnings ?? []), NOT_REMEMBERED] };
    await inner.execute(
      `update conversation_turn set messages = ?::json, outcome = ?::json, finished_at = clock_timestamp()
        where conversation_id = ? and turn = ?`,
      [storableJson(messages), storableJson(stored), id, turn],
    );
    return stored;
  });
}
