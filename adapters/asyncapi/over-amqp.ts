/**
 * Messages over AMQP 0-9-1, as RabbitMQ has it. Sent messages are confirmed by the broker; received ones are
 * acknowledged once the call has them all, so a call that is repeated gets them again.
 */
import type { Channel, ConfirmChannel, ConsumeMessage, Options } from 'amqplib';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { fieldsOf } from '../openapi/document.ts';
import { bindingText, bindingValue, settled } from './broker.ts';
import { connectAmqp, failureOf, type AmqpSession } from './amqp-session.ts';
import { MAX_RECEIVED_BYTES, type MessageQueue } from './message-queue.ts';
import type { Connecting, OutboundMessage, Protocol } from './protocol.ts';

/** Messages that wait for the call, as the broker counts them. */
const WINDOW = 16;
const PERSISTENT = 2;

export const overAmqp: Protocol = {
  maxReceivedBytes: MAX_RECEIVED_BYTES,

  async send(connecting, message) {
    const { exchange, key, queue } = placeOf(connecting);
    const options = publishOptions(connecting, message, queue !== null);
    const session = await connectAmqp(connecting, () => undefined);
    try {
      const channel = await session.within(session.model.createConfirmChannel());
      channel.on('error', (error) => session.fail(failureOf(connecting, error)));
      await session.within(
        confirmed(channel, { exchange, key, content: Buffer.from(message.payload), options }),
      );
    } catch (error) {
      throw failureOf(connecting, error);
    } finally {
      await session.close();
    }
    return null;
  },

  async subscribe(connecting, queue) {
    const place = placeOf(connecting);
    const session = await connectAmqp(connecting, (error) => queue.fail(error));
    try {
      const channel = await session.within(session.model.createChannel());
      channel.on('error', (error) => session.fail(failureOf(connecting, error)));
      const name = await session.within(queueOf(place, channel));
      const taking = await session.within(take(connecting, { channel, name, queue, session }));
      return async (complete) => {
        try {
          if (complete) taking.acknowledge();
          // The broker has seen what comes before the end of the channel.
          await settled(channel.close());
        } catch (error) {
          throw failureOf(connecting, error);
        } finally {
          await session.close();
        }
      };
    } catch (error) {
      await session.close();
      throw failureOf(connecting, error);
    }
  },
};

interface AmqpPlace {
  exchange: string;
  /** The routing key. */
  key: string;
  /** Null if messages come by the exchange. */
  queue: string | null;
}

/** AsyncAPI "AMQP Channel": a queue by its name, else an exchange with the address as routing key. */
function placeOf({ target }: Connecting): AmqpPlace {
  const { bindings, address } = target;
  const named = bindingText(fieldsOf(bindings, 'exchange'), 'name') ?? '';
  const isQueue = bindingText(bindings, 'is') === 'queue' || named === '' || named === 'default';
  const queue = isQueue ? (bindingText(fieldsOf(bindings, 'queue'), 'name') ?? address) : null;
  const [exchange, key] = [isQueue ? '' : named, queue ?? address];
  for (const text of [exchange, key])
    if (Buffer.byteLength(text) > 255)
      throw fault('configuration', 'The exchange or the routing key has more than 255 bytes');
  return { exchange, key, queue };
}

/** AsyncAPI "AMQP Operation" and "AMQP Message". */
function publishOptions(
  { target, id }: Connecting,
  message: OutboundMessage,
  toQueue: boolean,
): Options.Publish {
  const { bindings, messageBindings } = target;
  const number = (key: string, least: number, most: number): number | undefined => {
    const value = bindingValue(bindings[key]);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= least && value <= most) return value;
    throw fault('configuration', `The binding "${key}" is no number from ${least} to ${most}`);
  };
  const texts = (key: string): string[] | undefined => {
    const { [key]: list } = bindings;
    return Array.isArray(list) ? list.slice(0, 100).map(String) : undefined;
  };
  const [expiration, priority] = [number('expiration', 0, 2 ** 31), number('priority', 0, 255)];
  const [userId, replyTo] = [bindingText(bindings, 'userId'), bindingText(bindings, 'replyTo')];
  const [cc, bcc] = [texts('cc'), texts('bcc')];
  const encoding = bindingText(messageBindings, 'contentEncoding');
  const type = bindingText(messageBindings, 'messageType');
  return {
    contentType: 'application/json',
    deliveryMode: number('deliveryMode', 1, 2) ?? PERSISTENT,
    // A broker confirms what it throws away because there is no such queue.
    mandatory: typeof bindings['mandatory'] === 'boolean' ? bindings['mandatory'] : toQueue,
    messageId: id,
    headers: message.headers,
    ...(message.correlationId === null ? {} : { correlationId: message.correlationId }),
    ...(expiration === undefined ? {} : { expiration: String(expiration) }),
    ...(priority === undefined ? {} : { priority }),
    ...(userId === undefined ? {} : { userId }),
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(cc === undefined ? {} : { CC: cc }),
    ...(bcc === undefined ? {} : { BCC: bcc }),
    ...(encoding === undefined ? {} : { contentEncoding: encoding }),
    ...(type === undefined ? {} : { type }),
    ...(bindings['timestamp'] === true ? { timestamp: Math.floor(Date.now() / 1000) } : {}),
  };
}

interface Publication {
  exchange: string;
  key: string;
  content: Buffer;
  options: Options.Publish;
}

/** Resolves when the broker has the message; a mandatory one that no queue takes is an error. */
async function confirmed(
  channel: ConfirmChannel,
  { exchange, key, content, options }: Publication,
): Promise<void> {
  let isReturned = false;
  channel.on('return', () => (isReturned = true));
  await new Promise<void>((resolve, reject) => {
    const done = (error: unknown): void =>
      error === null || error === undefined
        ? resolve()
        : reject(
            fault('communication', 'The broker did not take the message', { status: 502, cause: error }),
          );
    try {
      channel.publish(exchange, key, content, options, done);
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
      throw fault('validation', 'The message has a property that AMQP cannot send', { cause: error });
    }
  });
  if (isReturned) throw fault('communication', `No queue takes messages for ${key}`, { status: 404 });
}

/** The queue to read: the binding's own, or one for this call alone that gets what comes to the exchange. */
async function queueOf({ exchange, key, queue }: AmqpPlace, channel: Channel): Promise<string> {
  if (queue !== null) return queue;
  const own = await channel.assertQueue('', { exclusive: true, autoDelete: true });
  await channel.bindQueue(own.queue, exchange, key);
  return own.queue;
}

interface Taking {
  channel: Channel;
  name: string;
  queue: MessageQueue;
  session: AmqpSession;
}

/**
 * Taken messages stay unacknowledged until the end. When they fill the broker's window, another consumer with
 * a window of its own takes over.
 */
async function take(
  connecting: Connecting,
  { channel, name, queue, session }: Taking,
): Promise<{ acknowledge(): void }> {
  let last: ConsumeMessage | null = null;
  let kept = 0;
  let consumer = '';
  const window = Math.min(WINDOW, connecting.amount ?? WINDOW);
  await channel.prefetch(window);
  const receive = (message: ConsumeMessage | null): void => {
    session.delivered();
    if (message === null) return queue.fail(fault('communication', 'The queue is gone', { status: 502 }));
    queue.push({
      ...inbound(message),
      settle: (taken) => {
        if (!taken) return acknowledge(message);
        last = message;
        if (++kept % window === 0)
          void begin().catch((error: unknown) => session.fail(failureOf(connecting, error)));
      },
    });
  };
  const begin = async (): Promise<void> => {
    const before = consumer;
    ({ consumerTag: consumer } = await channel.consume(name, receive));
    if (before !== '') await channel.cancel(before);
  };
  const acknowledge = (message: ConsumeMessage): void => {
    try {
      channel.ack(message);
    } catch (error) {
      session.fail(failureOf(connecting, error));
    }
  };
  await begin();
  return {
    acknowledge() {
      // With all before it: the others are already acknowledged.
      if (last !== null) channel.ack(last, true);
    },
  };
}

function inbound({ content, properties }: ConsumeMessage) {
  const given: unknown = properties.headers;
  const headers = readable(isRecord(given) ? given : {}, 0);
  const id: unknown = properties.correlationId;
  return {
    payload: content,
    headers: isRecord(headers) ? headers : {},
    ...(typeof id === 'string' ? { correlationId: id } : {}),
  };
}

/** Headers as JSON: a table of AMQP may have bytes, times and numbers of any size. */
function readable(value: unknown, depth: number): unknown {
  if (depth > 8) return null;
  if (Buffer.isBuffer(value)) return value.toString();
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map((each) => readable(each, depth + 1));
  if (!isRecord(value)) return value;
  const { '!': type, value: inner } = value;
  if (typeof type === 'string') return readable(inner, depth + 1);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, readable(each, depth + 1)]));
}
