import { Role, type Message, type Part } from '@a2a-js/sdk';
import { v5 as uuidv5 } from 'uuid';
import { INVOCATION_METADATA } from '../../contracts/invocation-key.ts';
import { renderTemplate } from '../secrets/templates.ts';
import type { Conversation } from './conversation.ts';
import { contextOf } from './part-values.ts';

/** A message's id is derived from the idempotency key, so a repeat sends the same message. */
const NAMESPACE = '5b0c7d0e-3f0a-5c3b-9d55-0c1f7a2be4a1';

/** The message of a call: a new task, or the answer to a question of an earlier one. */
export function userMessage({ call, configuration, sensitive }: Conversation, parts: Part[]): Message {
  const { metadata } = configuration;
  const configured =
    metadata === undefined ? {} : renderTemplate(metadata, call.input, sensitive, 'metadata');
  return {
    messageId: uuidv5(call.idempotencyKey, NAMESPACE),
    contextId: call.reply?.remote.context_id ?? contextOf(call.input),
    taskId: call.reply?.remote.task_id ?? '',
    role: Role.ROLE_USER,
    parts,
    metadata: {
      // The assertion holds: the template of an object renders to an object.
      ...(configured as Record<string, unknown>),
      ...(call.skill === undefined ? {} : { skill: call.skill }),
      [INVOCATION_METADATA]: call.idempotencyKey,
    },
    extensions: configuration.extensions ?? [],
    referenceTaskIds: [],
  };
}
