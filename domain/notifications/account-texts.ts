/** The texts of mails about accounts. They name no task. */
import type { AccountMailKind } from '../../contracts/account-mails.ts';
import type { Template } from './template.ts';

/** Paragraphs of text, as text and as HTML; an address at the end of one is a link. */
function mail(subject: string, paragraphs: readonly string[]): Template {
  const html = paragraphs.map((line) => {
    const linked = line.replace(/(.*): (\{\{\w*link\}\})$/, '<a href="$2">$1</a>');
    return `<p>${linked}</p>`;
  });
  return {
    subject,
    text: `Hello {{recipient}},\n\n${paragraphs.join('\n\n')}\n`,
    html: `<p>Hello {{recipient}},</p>\n${html.join('\n')}\n`,
  };
}

/** For those that may be turned off. */
const CHOICES = [
  'Choose what you are told: {{settings_link}}',
  'No more mails of this kind: {{unsubscribe_link}}',
];

const NOT_YOU = 'If it was not you, and you do not expect it, tell an administrator at once.';

export const ACCOUNT_TEXTS: Record<AccountMailKind, Template> = {
  invitation: mail('Your account at {{platform}}', [
    'There is an account for you at {{platform}}. Your username is {{username}}.',
    'It was made by {{actor}}.',
    'Choose your password: {{link}}',
    'The link works once, until {{expires}}.',
  ]),
  password_link: mail('Choose a new password for {{platform}}', [
    'Somebody asked for a new password for your account {{username}} at {{platform}}.',
    'Choose a new password: {{link}}',
    'The link works once, until {{expires}}. All your sessions end then. A second factor stays.',
    'If it was not you, do nothing: your password stays as it is.',
  ]),
  password_changed: mail('Your password at {{platform}} was {{change}}', [
    'The password of your account {{username}} at {{platform}} was {{change}} on {{at}}.',
    NOT_YOU,
  ]),
  factor_changed: mail('A second factor at {{platform}} was {{change}}', [
    'A second factor of your account {{username}} at {{platform}} was {{change}} on {{at}}: {{factor}}.',
    NOT_YOU,
  ]),
  email_changed: mail('Your e-mail address at {{platform}} was changed', [
    'The e-mail address of your account {{username}} at {{platform}} is {{email}} since {{at}}.',
    NOT_YOU,
  ]),
  credential_made: mail('A new {{credential}} at {{platform}}', [
    'Your account {{username}} at {{platform}} has a new {{credential}} since {{at}}. It acts as you.',
    NOT_YOU,
    ...CHOICES,
  ]),
  roles_changed: mail('You have a new role at {{platform}}', [
    'Your account {{username}} at {{platform}} has a new role since {{at}}: {{roles}}.',
    ...CHOICES,
  ]),
  credential_ends: mail('Ends soon: {{credential}}', [
    'The {{credential}} at {{platform}} ends on {{expires}}. What uses it stops working then.',
    'It belongs to {{actor}}.',
    'Make another one in time: {{link}}',
    ...CHOICES,
  ]),
  no_password: mail('You have no password at {{platform}}', [
    'Somebody asked for a new password for your account {{username}} at {{platform}}.',
    'The account has no password of its own. Log in as your organisation does it, or ask an administrator.',
    'If it was not you, do nothing.',
  ]),
};
