/**
 * The texts of mails. `{{name}}` is a value; a line whose values are all empty is left out. Values are
 * escaped in HTML and have no control characters in subjects.
 */
import { ACCOUNT_MAIL_KINDS } from '../../contracts/account-mails.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { escapeHtml } from '../../contracts/escape-html.ts';
import { NOTIFICATION_KINDS, type NotificationKind } from '../../contracts/notification-kinds.ts';
import { ACCOUNT_TEXTS } from './account-texts.ts';
import type { Template } from './template.ts';

export const TEMPLATE_NAMES = [...NOTIFICATION_KINDS, ...ACCOUNT_MAIL_KINDS, 'digest', 'test'] as const;
export type TemplateName = (typeof TEMPLATE_NAMES)[number];

export type Templates = Record<TemplateName, Template>;

/** What templates may name; `items` is the list of a digest, ready to use. */
const TEMPLATE_VALUES = [
  'recipient',
  'title',
  'workflow',
  'description',
  'due',
  'expires',
  'actor',
  'comment',
  'in_place_of',
  'link',
  'decision_link',
  'count',
  'items',
  'settings_link',
  'unsubscribe_link',
  'username',
  'platform',
  'credential',
  'change',
  'factor',
  'email',
  'roles',
  'at',
] as const;
export type TemplateValues = Partial<Record<(typeof TEMPLATE_VALUES)[number], string>>;

const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}/g;

/** @throws Error that names a placeholder without a value */
export function checkTemplate(template: string): void {
  for (const [, name] of template.matchAll(PLACEHOLDER)) {
    if (!TEMPLATE_VALUES.some((known) => known === name))
      throw new Error(`{{${name}}} is not one of ${TEMPLATE_VALUES.join(', ')}`);
  }
}

export interface Rendered {
  subject: string;
  text: string;
  html: string;
}

/** `items` of the values is text; `htmlItems` is the same list as HTML. */
export function renderMail(template: Template, values: TemplateValues, htmlItems = ''): Rendered {
  return {
    subject: cutTo(
      fill(template.subject, values, (value) => value)
        .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
        .trim(),
      MAX_SUBJECT,
    ),
    text: fill(template.text, values, (value) => value),
    html: fill(template.html, values, (value, name) => (name === 'items' ? htmlItems : escapeHtml(value))),
  };
}

const MAX_SUBJECT = 250;

function fill(
  template: string,
  values: TemplateValues,
  escape: (value: string, name: string) => string,
): string {
  const valueOf = (name: string): string => new Map(Object.entries(values)).get(name) ?? '';
  return template
    .split('\n')
    .filter((line) => {
      const names = [...line.matchAll(PLACEHOLDER)].map(([, name]) => name ?? '');
      return names.length === 0 || names.some((name) => valueOf(name) !== '');
    })
    .map((line) => line.replaceAll(PLACEHOLDER, (_all, name: string) => escape(valueOf(name), name)))
    .join('\n');
}

/** The subject of each kind; also the heading of chat messages. */
export const SUBJECTS: Record<NotificationKind, string> = {
  assigned: 'Assigned to you: {{title}}',
  candidate: 'Waiting for a decision: {{title}}',
  reminder: 'Reminder: {{title}}',
  escalation: 'Escalated to you: {{title}}',
  expiring: 'Expires soon: {{title}}',
  mentioned: '{{actor}} mentioned you: {{title}}',
};

const FOOT = `
Choose what you are told: {{settings_link}}
No more mails of this kind: {{unsubscribe_link}}
`;
const HTML_FOOT = `<p style="color:#667085;font-size:12px">
<a href="{{settings_link}}">Choose what you are told</a>
or <a href="{{unsubscribe_link}}">get no more mails of this kind</a>.</p>`;

const TASK: Omit<Template, 'subject'> = {
  text: `Hello {{recipient}},

{{title}}
Workflow: {{workflow}}
In place of: {{in_place_of}}
Due: {{due}}
Expires: {{expires}}

{{description}}
{{actor}} wrote: {{comment}}

Open the task: {{link}}
Decide without logging in: {{decision_link}}
${FOOT}`,
  html: `<p>Hello {{recipient}},</p>
<p style="font-size:17px"><b>{{title}}</b></p>
<p>Workflow: {{workflow}}</p>
<p>In place of: {{in_place_of}}</p>
<p>Due: {{due}}</p>
<p>Expires: {{expires}}</p>
<p style="white-space:pre-wrap">{{description}}</p>
<blockquote style="white-space:pre-wrap">{{actor}}: {{comment}}</blockquote>
<p><a href="{{link}}">Open the task</a></p>
<p><a href="{{decision_link}}">Decide without logging in</a></p>
${HTML_FOOT}`,
};

const DIGEST: Template = {
  subject: '{{count}} tasks for you',
  text: `Hello {{recipient}},

{{items}}
${FOOT}`,
  html: `<p>Hello {{recipient}},</p>
<ul>{{items}}</ul>
${HTML_FOOT}`,
};

const TEST: Template = {
  subject: 'Test mail of Cadenza',
  text: `Hello {{recipient}},

Mails of this platform arrive. {{link}}
`,
  html: `<p>Hello {{recipient}},</p>
<p>Mails of this platform arrive. <a href="{{link}}">{{link}}</a></p>
`,
};

export function defaultTemplates(): Templates {
  const of = (kind: NotificationKind): Template => ({ subject: SUBJECTS[kind], ...TASK });
  return {
    assigned: of('assigned'),
    candidate: of('candidate'),
    reminder: of('reminder'),
    escalation: of('escalation'),
    expiring: of('expiring'),
    mentioned: of('mentioned'),
    digest: DIGEST,
    test: TEST,
    ...ACCOUNT_TEXTS,
  };
}
