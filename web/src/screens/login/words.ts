export const words = {
  title: 'Log in to Cadenza',
  document: 'Log in',
  username: 'Username or e-mail',
  password: 'Password',
  logIn: 'Log in',
  logInWith: (title: string) => `Continue with ${title}`,
  forgotten: 'Forgotten your password?',
  askAdmin: 'Forgotten your password? Ask an administrator.',
  byPasskey: 'Use a passkey',
  noPasskey: 'No passkey was used.',
  over: 'Your session is over',
  overText: (name: string) => `Log in again as ${name}. What you typed is kept.`,
  tooOld: 'Log in again to do this',
  tooOldText: (name: string) =>
    `This needs a log-in of the last 5 minutes by ${name}. What you typed is kept: send it again afterwards.`,
  cancel: 'Cancel',
  asAnother: 'Log in as somebody else',
};
