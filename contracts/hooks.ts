/** How senders of inbound webhooks sign their requests. */
export const HOOK_SCHEMES = ['github', 'stripe', 'slack', 'standard'] as const;
export type HookScheme = (typeof HOOK_SCHEMES)[number];

/** Why a call of an inbound webhook was refused. The caller is not told. */
export const HOOK_REFUSALS = [
  'unsigned',
  'wrong_signature',
  'old_signature',
  'no_secret',
  'source_bound',
  'inactive',
] as const;
export type HookRefusal = (typeof HOOK_REFUSALS)[number];
