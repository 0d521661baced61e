export const words = {
  code: 'Code of your authenticator app, or a recovery code',
  logIn: 'Log in',
  byPasskey: 'Use a passkey',
  back: 'Begin again',
  stopped: 'The passkey was not used.',
} as const;
