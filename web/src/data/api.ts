/** The API as the console sees it: requests carry the session cookie. */
import { signal } from '@preact/signals';

import { createClient } from '../../../client/index.ts';

/** The server has refused a request because the session is over. */
export const sessionOver = signal(false);

export const client = createClient({
  fetch: async (...request) => {
    const response = await fetch(...request);
    if (response.status === 401) sessionOver.value = true;
    return response;
  },
});
