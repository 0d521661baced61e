export const words = {
  states: { ready: 'ready', blocked: 'cannot run', draft: 'draft' },
  explained: {
    ready: 'It can run.',
    blocked: 'It is valid, but something that it needs is missing or not supported.',
    draft: 'It has errors, so it cannot run.',
  },
};
