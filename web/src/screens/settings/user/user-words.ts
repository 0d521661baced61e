export const words = {
  all: 'All users',
  status: 'Status',
  password: 'Password',
  hasPassword: 'yes',
  noPassword: 'none: by single sign-on or an invitation',
  madeBy: 'Account',
  byIssuer: 'made by an issuer, whose claims decide on the roles',
  erased: 'Erased',
  created: 'Created',

  passwordOff: 'Switch the password off',
  passwordOffTitle: (name: string) => `Switch the password of ${name} off?`,
  passwordOffText:
    'From then on single sign-on is the only way in. All sessions end; machine clients, access tokens and ' +
    "workers' tokens are deleted.",
  passwordOffDone: (name: string) => `${name} has no password any more.`,

  invitation: 'Invitation',
  invited: 'The person may choose a password by the link of an invitation, until',
  invitationOver: 'The invitation ended',
  notInvited: 'None is open. With one the person chooses a password by a link.',
  invite: 'Invite',
  inviteTitle: (name: string) => `Invite ${name} to choose a password?`,
  inviteText: 'By a link in a mail, or one that you hand over yourself. It works once.',
  inviteAgain: 'Invite again',
  inviteAgainTitle: (name: string) => `Invite ${name} again?`,
  inviteAgainText: 'There is a new link. The one of before stops working.',
  withdraw: 'Take the invitation back',
  withdrawTitle: (name: string) => `Take the invitation of ${name} back?`,
  withdrawText: 'Its link stops working at once.',
  withdrawn: (name: string) => `The invitation of ${name} is taken back.`,

  handOver: 'Hand over',
  handOverTitle: (name: string) => `Hand over all that ${name} owns`,
  handOverHelp:
    'Agents, workflows, runs, files, webhooks and marketplace items get the new owner, undecided tasks ' +
    'the new assignee. Conversations, chats, sets and tasks of A2A go along. Secrets are copied; if the ' +
    'new owner has another one of the same name, the copy gets a new name. There is no undo.',
  to: 'To',
  toHelp: 'The username of the new owner.',
  handing: (to: string) => `Handing over to ${to}: what is done so far`,
  handed: (to: string) => `Handed over to ${to}`,
  handedDone: (name: string, to: string) => `What ${name} owned belongs to ${to}.`,
  neverHanded: 'Nothing has been handed over.',
  renamed: 'Secrets with a new name',

  secondFactor: 'Second factor',
  hasFactor: 'Set up. The log-in asks for it.',
  noFactor: 'None is set up.',
  resetFactor: 'Reset the second factor',
  resetFactorTitle: (name: string) => `Remove the second factors of ${name}?`,
  resetFactorText:
    'The authenticator app, passkeys and recovery codes no longer open the account, until new ones are set ' +
    'up. Make sure by another way that it is this person who asks for it.',
  resetFactorDone: (name: string) => `The second factors of ${name} are removed.`,

  sessions: 'Sessions',
  sessionsHelp:
    'Where the user is logged in. Sessions, access tokens and machine clients that wait for a second ' +
    "factor have only a viewer's rights.",
  noSessions: 'No sessions.',
  endAll: 'End all sessions',
  endAllTitle: (name: string) => `End all sessions of ${name}?`,
  endAllText:
    'All browsers and programs have to log in again. Machine clients and access tokens go on working.',
  endAllDone: (name: string) => `All sessions of ${name} have ended.`,

  tokens: 'Access tokens',
  noTokens: 'No access tokens.',
  clients: 'Machine clients',
  noClients: 'No machine clients.',

  identities: 'Single sign-on',
  noIdentities: 'No identities at external issuers.',
  link: 'Link an identity',
  linkTitle: (name: string) => `Link an identity to ${name}`,
  linkHelp: 'Whoever has it logs in as this user from then on.',
  linkIssuer: 'Issuer',
  subject: 'Subject',
  subjectHelp: '`sub` in the tokens of the issuer.',
  linked: (title: string, name: string) => `The identity at ${title} opens the account of ${name}.`,

  erasure: 'Erasure',
  retry: 'Try again',
  retryTitle: 'Ask Temporal again?',
  retryText: (count: number) =>
    `Temporal is asked once more to remove ${count === 1 ? 'the history' : `the ${count} histories`} ` +
    'that it has refused to remove. Allow it there first.',
};
