export const words = {
  tokensHelp:
    'An access token is for a script or a program that acts as you, within its scopes, until it expires. ' +
    'To create one, you must have logged in with your password in the last five minutes.',
  newToken: 'Create a token',
  noTokens: 'No access tokens.',
  name: 'Name',
  scopes: 'Scopes',
  scopesHelp: 'Such as runs:read runs:write, or workflow:<id> for one workflow and its runs.',
  clientScopesHelp:
    'Such as runs:read runs:write, or workflow:<id> for one workflow and its runs. None: all that you may.',
  allScopes: 'all that its user may',
  expires: 'Expires',
  endsSoon: '(ends soon)',
  ended: '(has ended)',
  waits: '(waits for a second factor)',
  waitsHelp: "What waits for a second factor has only a viewer's rights until you have one.",
  setUpFactor: 'Set up a second factor',
  used: 'Last used',
  never: 'never',
  ending: 'Ends with',
  token: 'Access token',
  tokenEnding: (hint: string) => `…${hint}`,
  deleteToken: (name: string) => `Delete the token ${name}?`,
  deleteTokenText: 'What uses it stops working at once.',
  acts: 'Actions',
} as const;
