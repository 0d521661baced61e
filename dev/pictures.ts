/** The pictures of the README, which `npm run pictures` writes to docs/pictures. */
export const PICTURES = ['inbox', 'run', 'editor'] as const;
export type Picture = (typeof PICTURES)[number];
