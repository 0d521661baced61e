/** Push notifications in the form that the receiver's version of the protocol has. */
import { Task } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import type { PushNotificationFormat } from '../../domain/ports.ts';

const legacy = new V03PushNotificationSerializer();

export const pushNotificationFormat: PushNotificationFormat = {
  write(version, update, task) {
    if (version === '1.0') return { content_type: 'application/a2a+json', body: JSON.stringify(update) };
    const payload = { $case: 'task' as const, value: Task.fromJSON(task()) };
    return { content_type: 'application/json', body: legacy.serialize({ payload }, undefined).body };
  },
};
