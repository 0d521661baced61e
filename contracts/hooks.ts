/** How senders of inbound webhooks sign their requests. */
export const HOOK_SCHEMES = ['github', 'stripe', 'slack', 'standard'] as const;
export type HookScheme = (typeof HOOK_SCHEMES)[number];
