export const words = {
  invite: 'Invite the person to choose a password',
  inviteHelp: 'If you give none: by a link in a mail, or one that you hand over yourself.',
  isInvited: 'invited',
  invitationEnded: 'invitation ended',
  notInvited: (name: string, why: string) => `${name} is saved, but not invited: ${why}`,
  invited: (name: string, address: string) => `${name} is invited by a mail to ${address}.`,
  handOver: (name: string, ends: string) => `Hand it to ${name}. It works once, until ${ends}.`,
  invitationLink: (name: string) => `Link for ${name}, to choose a password`,
} as const;
