/** Mails to people about their accounts (docs/notifications.md#mails-about-accounts). */

/** `no_password`: somebody asked for a new password of an account that has none here. */
export const ACCOUNT_MAIL_KINDS = [
  'invitation',
  'password_link',
  'no_password',
  'password_changed',
  'factor_changed',
  'email_changed',
  'credential_made',
  'credential_ends',
  'roles_changed',
] as const;
export type AccountMailKind = (typeof ACCOUNT_MAIL_KINDS)[number];

/** Those that people may turn off, next to the kinds of notifications. */
export const OPTIONAL_MAIL_KINDS = [
  'credential_made',
  'credential_ends',
  'roles_changed',
] as const satisfies readonly AccountMailKind[];
export type OptionalMailKind = (typeof OPTIONAL_MAIL_KINDS)[number];
