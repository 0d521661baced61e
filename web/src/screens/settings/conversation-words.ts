export const words = {
  help:
    'What language models remember of your conversations. Only you see them. One that nobody continues is ' +
    'removed after a while.',
  search: 'Search what was said',
  none: 'No conversations. One begins when a model is called with a session.',
  facts: (agent: string, messages: number) =>
    `with ${agent}, ${messages === 1 ? '1 message' : `${messages} messages`}`,
};
