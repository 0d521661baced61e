export const words = {
  none: 'There is no difference.',
  skipped: (count: number) => (count === 1 ? '1 equal line' : `${count} equal lines`),
  kinds: { same: '', removed: 'removed', added: 'added' },
};
