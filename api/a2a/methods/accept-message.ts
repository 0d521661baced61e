import { SendMessageRequest } from '@a2a-js/sdk';
import { ExtensionSupportRequiredError } from '@a2a-js/sdk/errors';
import type { A2AMessage, A2APushConfig } from '../../../contracts/a2a/objects.ts';
import { checkInputModes, checkMessage } from '../../../domain/a2a/input.ts';
import { receiveMessage, type Sent } from '../../../domain/a2a/send.ts';
import { writeAudit } from '../../../domain/audit/write.ts';
import { invalid } from '../../../domain/errors.ts';
import { deliverSignals, startRun } from '../../../domain/runs/dispatch.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { inTransaction } from '../../transaction.ts';
import { requireScope } from '../../scopes.ts';
import { changing, type A2ACall } from '../call.ts';
import { receiveMessageFiles, type MessageFiles } from '../message-files.ts';
import { afterCommit } from './after-commit.ts';
import { historyLengthOf } from './fields.ts';
import { pushConfigOf, requirePushNotifications, setPushConfig } from './push-configs.ts';

type PushConfig = Omit<A2APushConfig, 'taskId'>;

/**
 * Stores the message in one transaction, then starts the run or sends its signals. If the latter fails, the
 * reconciler repeats it.
 */
export async function acceptMessage(call: A2ACall, params: SendMessageRequest): Promise<Sent> {
  const { deps, actor } = call;
  // A message to a task that waits decides what a person was asked.
  if (params.message?.taskId) requireScope(actor, 'hitl:decide');
  const message = checkedMessage(call, params);
  const push = params.configuration?.taskPushNotificationConfig;
  const config = push && (await pushConfigOf(push, call));
  const files = await receiveMessageFiles(
    {
      store: deps.files,
      em: deps.orm.em.fork(),
      actor,
      baseUrl: deps.env.BASE_URL,
      limits: deps.env,
    },
    message,
  );
  let filesKept = false;
  try {
    const sent = await storeMessage(call, params, files, config);
    filesKept = sent.created;
    await afterCommit(call, async () => {
      if (sent.created) await startRun(deps, sent.taskId);
      await deliverSignals(deps, sent.signals);
    });
    return sent;
  } finally {
    if (!filesKept) await files.discard();
  }
}

/** All checks of the request that need no database, before any of its bytes are stored. */
function checkedMessage(call: A2ACall, params: SendMessageRequest): A2AMessage {
  requireExtensions(call);
  if (!params.message)
    throw invalid([{ pointer: '/message', code: 'required', message: 'message is required' }]);
  historyLengthOf(params.configuration?.historyLength);
  if (params.configuration?.taskPushNotificationConfig) {
    requirePushNotifications(call);
    // A message that is repeated starts nothing, but would set this up for its task.
    changing(call);
  }
  // The codec's output is ProtoJSON, which has the shape of A2AMessage.
  const json = SendMessageRequest.toJSON(params) as { message: Partial<A2AMessage> };
  const message = { messageId: '', parts: [], ...json.message } as A2AMessage;
  checkMessage(message);
  if (!message.taskId) checkInputModes(message, call.target.modes.input);
  return message;
}

function requireExtensions({ target, extensions }: A2ACall): void {
  const missing = target.extensions
    .filter(({ uri, required }) => required && !extensions.includes(uri))
    .map(({ uri }) => uri);
  if (missing.length > 0)
    throw new ExtensionSupportRequiredError(
      `This agent requires the extension ${missing.join(', ')}: list it in A2A-Extensions.`,
    );
}

async function storeMessage(
  call: A2ACall,
  { configuration, metadata }: SendMessageRequest,
  files: MessageFiles,
  config: PushConfig | undefined,
): Promise<Sent> {
  const { deps, actor, origin, target } = call;
  return inTransaction(
    () => deps.orm.em.fork(),
    async (em) => {
      const received = await receiveMessage(em, actor, target, {
        message: files.message,
        acceptedOutputModes: configuration?.acceptedOutputModes ?? [],
        metadata: metadata && Object.keys(metadata).length > 0 ? metadata : null,
        fileOf: (part) => files.fileOf(part),
        limits: runLimits(deps.env),
      });
      const { taskId } = received;
      await writeAudit(em, origin, {
        action: 'a2a_message',
        objectType: 'agent',
        objectId: target.agent.id,
        data: { run_id: taskId },
      });
      if (received.created) await files.keep(em, { id: taskId, owner_id: actor.id });
      if (config) await setPushConfig(em, call, { ...config, taskId });
      return received;
    },
  );
}
