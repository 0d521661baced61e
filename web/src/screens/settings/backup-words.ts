/** Texts of the last backups. */
export const words = {
  title: 'Backups',
  none: 'None',
  last: 'Last complete one',
  lastHelp: (size: string, length: string) => `${size}, took ${length}`,
  place: 'Folder',
  failed: 'Last failure',
  running: 'Being taken',
  since: 'since',
};
