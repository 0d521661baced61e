export const words = {
  document: 'Password',
  chooseTitle: 'Choose your password',
  invited: (name: string) => `Your account is ${name}.`,
  forgot: (name: string) => `A new password for ${name}. All your sessions end.`,
  until: (time: string) => `The link works once, until ${time}.`,
  password: 'New password',
  repeated: 'Repeat the password',
  differ: 'The two passwords differ.',
  wrong: (message: string) => `The password ${message}.`,
  choose: 'Choose and log in',
  chosen: 'Your password is set.',
  notOurs: 'This link is not complete. Open it from the mail again.',
  askTitle: 'Forgotten password',
  askText: 'You get a mail with a link by which you choose a new password.',
  name: 'Username or e-mail',
  ask: 'Send the link',
  askedTitle: 'Look into your mails',
  askedText:
    'If there is such an account, a mail is on its way. Without one within some minutes, look among junk ' +
    'mails, or ask an administrator.',
  toLogIn: 'To the log-in',
};
