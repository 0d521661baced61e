/** How long a webhook's former secret signs requests beside the new one, after a rotation. */
export const DEFAULT_FORMER_SECRET_SECONDS = 24 * 3_600;
export const MAX_FORMER_SECRET_SECONDS = 7 * 24 * 3_600;
