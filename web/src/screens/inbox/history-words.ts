export const words = {
  run: 'The run',
  actions: {
    created: 'asked',
    claimed: 'claimed it',
    released: 'released it',
    delegated: 'delegated it',
    escalated: 'escalated it',
    commented: 'commented',
    voted: 'voted',
    decided: 'decided',
    expired: 'let it expire',
    cancelled: 'withdrew it',
  },
  via: {
    api: '',
    batch: 'with others',
    link: 'by a link',
    a2a: 'over A2A',
    mcp: 'by a language model (MCP)',
    workflow: '',
  },
  asAdmin: 'as admin',
};
