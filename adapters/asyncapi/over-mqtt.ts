/** Messages over MQTT 3.1.1 and 5, at least once. */
import type { IClientPublishOptions } from 'mqtt';
import { fault } from '../../contracts/fault.ts';
import { openMqttSession, userProperties, type MqttSession } from '../mqtt/session.ts';
import { MAX_RECEIVED_BYTES, type MessageQueue } from './message-queue.ts';
import type { Connecting, OutboundMessage, Protocol } from './protocol.ts';

export const overMqtt: Protocol = {
  maxReceivedBytes: MAX_RECEIVED_BYTES,

  async send(connecting, message) {
    const { target } = connecting;
    const options = publishOptions(connecting, message);
    const { client, within, leave } = await connect(connecting, null);
    try {
      await within(client.publishAsync(target.address, message.payload, options));
    } finally {
      await leave();
    }
    return null;
  },

  async subscribe(connecting, queue) {
    const { target } = connecting;
    const { client, within, leave } = await connect(connecting, queue);
    client.on('message', (_topic, payload, { properties }) =>
      queue.push({
        payload,
        headers: { ...properties?.userProperties },
        ...(properties?.correlationData ? { correlationId: properties.correlationData.toString() } : {}),
      }),
    );
    try {
      const granted = await within(client.subscribeAsync(target.address, { qos: qosOf(target.bindings) }));
      if (granted.some(({ qos }) => qos >= 128))
        throw fault('authorization', `${target.host} refuses the subscription of ${target.address}`);
    } catch (error) {
      await leave();
      throw error;
    }
    // From now on, the connection is read on when the call has taken what waits. Not earlier: messages may
    // come before the answer to the subscription.
    client.handleMessage = (_packet, done) => void queue.drained().then(() => done(), done);
    return leave;
  },
};

function publishOptions({ target }: Connecting, { headers }: OutboundMessage): IClientPublishOptions {
  const { retain } = target.bindings;
  const isCurrent = target.protocol === 'mqtt5';
  if (Object.keys(headers).length > 0 && !isCurrent)
    throw fault('configuration', 'Messages of MQTT 3 have no headers: use a server of the protocol mqtt5');
  return {
    qos: qosOf(target.bindings),
    retain: retain === true,
    ...(isCurrent ? { properties: { contentType: 'application/json', ...userProperties(headers) } } : {}),
  };
}

/** AsyncAPI "MQTT Operation": at least once, unless the document says otherwise. */
function qosOf({ qos }: Record<string, unknown>): 0 | 1 | 2 {
  return qos === 0 || qos === 2 ? qos : 1;
}

function connect(connecting: Connecting, queue: MessageQueue | null): Promise<MqttSession> {
  const { egress, guard, target, account, credentials, id } = connecting;
  if (account === null && credentials['authorization'] !== undefined)
    throw fault('configuration', 'MQTT knows the authentication "basic" only');
  return openMqttSession({
    egress,
    guard,
    host: target.host,
    secure: target.secure,
    version: target.protocol === 'mqtt5' ? 5 : 4,
    account,
    id,
    ended: (failure) => queue?.fail(failure),
  });
}
