/** What mails and chats say about human tasks. */
import { shortened } from '../../contracts/cut-text.ts';
import { isReachable } from '../../contracts/mail-address.ts';
import type { ChatFormat, NotificationKind } from '../../contracts/notification-kinds.ts';
import type { Orm } from '../../db/orm.ts';
import { allowsLink, createDecisionLink, type DecisionLinkDeps } from '../hitl/decision-links.ts';
import type { Mail } from '../ports.ts';
import { chatMessage, type ChatItem } from './chat-messages.ts';
import type { Item, Reader } from './due-items.ts';
import { unsubscribeKey } from './settings.ts';
import { escapeHtml } from '../../contracts/escape-html.ts';
import { renderMail, SUBJECTS, type Templates, type TemplateValues } from './templates.ts';

export interface MessageDeps {
  orm: Orm;
  /** Without a trailing slash. */
  baseUrl: string;
  templates: Templates;
  links: DecisionLinkDeps;
  /** For people who have chosen none. */
  timeZone: string;
}

const MAX_DESCRIPTION = 2_000;
const MAX_COMMENT = 1_000;

/** One mail about all of it; null if the person has no address. */
export async function composeMail(deps: MessageDeps, items: readonly Item[]): Promise<Mail | null> {
  const [first] = items;
  if (!first?.reader || !isReachable(first.reader.email)) return null;
  const { reader, delivery } = first;
  const isDigest = items.length > 1;
  const kinds = [...new Set(items.map((item) => item.delivery.kind))];
  const key = await deps.orm.em.fork().transactional((em) => unsubscribeKey(em, reader.id));
  const unsubscribe = `${deps.baseUrl}/notifications/unsubscribe/${key}?kinds=${kinds.join(',')}`;
  const common: TemplateValues = {
    recipient: nameOf(reader),
    settings_link: `${deps.baseUrl}/console/settings/notifications`,
    unsubscribe_link: unsubscribe,
  };
  const rendered = isDigest
    ? await renderDigest(deps, common, items)
    : renderMail(deps.templates[delivery.kind], {
        ...common,
        ...taskValues(deps, first),
        ...(await decisionLink(deps, first)),
      });
  return {
    to: reader.email,
    ...rendered,
    messageId: `<${delivery.id}@${new URL(deps.baseUrl).hostname}>`,
    unsubscribe,
  };
}

/** Only in a mail to one person; none for a task that names them in a comment. */
async function decisionLink(deps: MessageDeps, { task, reader, delivery }: Item): Promise<TemplateValues> {
  if (reader === null || delivery.kind === 'mentioned' || !allowsLink(deps.links, task)) return {};
  const link = await deps.orm.em
    .fork()
    .transactional((em) => createDecisionLink(em, deps.links, task, reader.id));
  return { decision_link: link };
}

/** Each task has its own link. */
async function renderDigest(
  deps: MessageDeps,
  common: TemplateValues,
  items: readonly Item[],
): Promise<ReturnType<typeof renderMail>> {
  const links = new Map<string, string | undefined>();
  for (const item of items)
    if (links.get(item.task.id) === undefined)
      links.set(item.task.id, (await decisionLink(deps, item)).decision_link);
  const entries = items.map((item) => {
    const decide = links.get(item.task.id);
    return {
      heading: headingOf(item),
      links: [linkOf(deps, item), ...(decide === undefined ? [] : [decide])],
    };
  });
  const lines = entries.map((entry) =>
    [`- ${entry.heading}`, `  ${entry.links[0]}`]
      .concat(entry.links.slice(1).map((link) => `  ${DECIDE}: ${link}`))
      .join('\n'),
  );
  const html = entries.map(({ heading, links: [link = '', decide] }) => {
    const more = decide === undefined ? '' : ` · <a href="${escapeHtml(decide)}">${DECIDE}</a>`;
    return `<li><a href="${escapeHtml(link)}">${escapeHtml(heading)}</a>${more}</li>`;
  });
  const values = { ...common, count: String(items.length), items: lines.join('\n') };
  return renderMail(deps.templates.digest, values, html.join('\n'));
}

const DECIDE = 'Decide without logging in';

function taskValues(deps: MessageDeps, item: Item): TemplateValues {
  const { task, reader, actor, comment, in_place_of } = item;
  const zone = reader?.time_zone ?? deps.timeZone;
  return {
    title: task.title,
    workflow: task.workflow_name,
    description: shortened(task.description ?? '', MAX_DESCRIPTION),
    due: timeText(task.due_at, zone),
    expires: timeText(task.expires_at, zone),
    actor: actor ?? '',
    comment: shortened(comment ?? '', MAX_COMMENT),
    in_place_of: in_place_of ?? '',
    link: linkOf(deps, item),
  };
}

/** The message for a chat about all of it. */
export function composeChat(deps: MessageDeps, format: ChatFormat, items: readonly Item[]): string {
  return chatMessage(
    format,
    items.map((item): ChatItem => {
      const { task, reader, comment } = item;
      const zone = reader?.time_zone ?? deps.timeZone;
      const facts = [
        ['Workflow', task.workflow_name],
        ['For', reader === null ? audienceOf(item) : ''],
        ['In place of', item.in_place_of ?? ''],
        ['Due', timeText(task.due_at, zone)],
        ['Expires', timeText(task.expires_at, zone)],
        ['Comment', shortened(comment ?? '', MAX_COMMENT)],
      ] as const;
      return {
        heading: headingOf(item),
        facts: facts.filter(([, value]) => value !== ''),
        link: linkOf(deps, item),
      };
    }),
  );
}

const CHAT_HEADINGS: Partial<Record<NotificationKind, string>> = {
  assigned: 'Assigned: {{title}}',
  escalation: 'Escalated: {{title}}',
};

function headingOf({ task, reader, actor, delivery: { kind } }: Item): string {
  const template = (reader === null ? CHAT_HEADINGS[kind] : undefined) ?? SUBJECTS[kind];
  const values = { title: task.title, actor: actor ?? 'Somebody' };
  return renderMail({ subject: template, text: '', html: '' }, values).subject;
}

function audienceOf({ task, assignee }: Item): string {
  const { users, roles, groups, teams = [] } = task.candidates;
  return shortened(
    [...(assignee === null ? [] : [assignee]), ...users, ...groups, ...teams, ...roles].join(', '),
    300,
  );
}

function linkOf({ baseUrl }: MessageDeps, { task }: Item): string {
  return `${baseUrl}/console/inbox?task=${task.id}`;
}

export function timeText(at: string | null, zone: string): string {
  if (at === null) return '';
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    dateStyle: 'medium',
    timeStyle: 'short',
  });
  return `${format.format(new Date(at))} (${zone})`;
}

function nameOf({ display_name: name, username }: Reader): string {
  return name ?? username;
}
