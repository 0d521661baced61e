/** Notifications of human tasks: why people are told, and how. Without zod: the console imports it. */

/** What a person is told. `escalation`: a task came to them because nobody decided it in time. */
export const NOTIFICATION_KINDS = [
  'assigned',
  'candidate',
  'reminder',
  'escalation',
  'expiring',
  'mentioned',
] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

/**
 * What happened to a task that people are told of. `expiring`, `returned` (the account of the person who had
 * it ended) and `stranded` (too few people may decide it then; for admins) have no event.
 */
export type NoticeReason =
  'created' | 'reminder' | 'escalated' | 'delegated' | 'commented' | 'expiring' | 'returned' | 'stranded';

/** In which form a chat takes messages. */
export const CHAT_FORMATS = ['slack', 'teams', 'mattermost'] as const;
export type ChatFormat = (typeof CHAT_FORMATS)[number];

/** `off`: each message by itself. */
export const DIGESTS = ['off', 'hourly', 'daily'] as const;

/** Why a chat is told nothing although it is on: the account of its owner, or a right that they have lost. */
export const CHAT_SILENCES = ['owner_disabled', 'owner_not_allowed'] as const;
export type ChatSilence = (typeof CHAT_SILENCES)[number];
