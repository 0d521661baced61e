/** Words of the parts that the screens of records share. */
export const words = {
  searchHint: 'Search  /',
  noneMatches: (filter: string) => `Nothing matches ${filter}.`,
  clear: 'Clear filters',
  more: 'Show more',
  cancel: 'Cancel',
  needs: (role: string) => `This needs the role ${role}. An admin can give it to you.`,
  copy: 'Copy',
  copied: 'Copied',
};
