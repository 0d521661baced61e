/** The form of an event source. */
import { words } from './event-words.ts';

export const sourceSchema = {
  type: 'object',
  required: ['source'],
  properties: {
    source: { type: 'string', title: words.source },
    client_id: { type: 'string', title: words.client, description: words.clientHelp },
    user_id: { type: 'string', title: words.user, description: words.userHelp },
    shared_with: {
      type: 'array',
      items: { type: 'string' },
      title: words.shared,
      description: words.sharedHelp,
    },
    description: { type: 'string', title: words.note, maxLength: 1_000 },
  },
};
