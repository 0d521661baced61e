/** Messages as chats take them. Texts of tasks come from anybody, so none of them can format or mention. */
import type { ChatFormat } from '../../contracts/notification-kinds.ts';

export interface ChatItem {
  heading: string;
  /** Label and value. */
  facts: (readonly [string, string])[];
  link: string;
}

const MAX_ITEMS = 10;
const OPEN = 'Open the task';

/** The JSON body of one message. */
export function chatMessage(format: ChatFormat, items: readonly ChatItem[]): string {
  const shown = items.slice(0, MAX_ITEMS);
  const more = items.length - shown.length;
  return JSON.stringify(BODIES[format](shown, more > 0 ? `And ${more} more.` : null));
}

type Body = (items: readonly ChatItem[], more: string | null) => unknown;

const BODIES: Record<ChatFormat, Body> = { slack, teams: teamsCard, mattermost };

/** https://docs.slack.dev/messaging/formatting-message-text/#escaping */
function slack(items: readonly ChatItem[], more: string | null): unknown {
  const escape = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const plain = (text: string): unknown => ({ type: 'plain_text', text: text.slice(0, 2_900), emoji: false });
  return {
    text: escape(items.map(({ heading }) => heading).join('\n')).slice(0, 3_900),
    blocks: [
      ...items.flatMap(({ heading, facts, link }) => [
        { type: 'section', text: plain([heading, ...facts.map((fact) => fact.join(': '))].join('\n')) },
        { type: 'actions', elements: [{ type: 'button', text: plain(OPEN), url: link }] },
      ]),
      ...(more === null ? [] : [{ type: 'section', text: plain(more) }]),
    ],
  };
}

/** An Adaptive Card for a webhook of Teams' workflows. Runs of text are shown as they are. */
function teamsCard(items: readonly ChatItem[], more: string | null): unknown {
  const lineOf = (text: string, rest: Record<string, unknown> = {}): unknown => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: text.slice(0, 3_000), ...rest }],
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            ...items.flatMap(({ heading, facts, link }) => [
              lineOf(heading, { weight: 'Bolder' }),
              ...facts.map((fact) => lineOf(fact.join(': '))),
              { type: 'ActionSet', actions: [{ type: 'Action.OpenUrl', title: OPEN, url: link }] },
            ]),
            ...(more === null ? [] : [lineOf(more)]),
          ],
        },
      },
    ],
  };
}

function mattermost(items: readonly ChatItem[], more: string | null): unknown {
  const lines = items.map(({ heading, facts, link }) =>
    [
      `**${markdownText(heading)}**`,
      ...facts.map(([label, value]) => `${label}: ${markdownText(value)}`),
      `[${OPEN}](${link})`,
    ].join('\n'),
  );
  return { text: [...lines, ...(more === null ? [] : [more])].join('\n\n').slice(0, 16_000) };
}

/** One line, with markup escaped; a zero-width space keeps `@all` from being a mention. */
function markdownText(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\\`*_{}[\]()#+\-.!|<>~:]/g, String.raw`\$&`)
    .replaceAll('@', '@\u200b');
}
