/** Words of the parts that the screens of records share. */
export const words = {
  searchHint: (isTouch: boolean) => (isTouch ? 'Search' : 'Search  /'),
  noneMatches: (filter: string) => `Nothing matches ${filter}.`,
  clear: 'Clear filters',
  more: 'Show more',
  cancel: 'Cancel',
  reload: 'Show what is saved now, and drop my changes',
  needs: (role: string) => `This needs the role ${role}. An admin can give it to you.`,
  copy: 'Copy',
  copied: 'Copied',
  history: 'History',
  people: 'People',
  peopleFound: (count: number) =>
    count === 0 ? 'Nobody has this name.' : count === 1 ? '1 person' : `${count} people`,
};
