export const words = {
  list: 'Warnings',
  one: (message: string) => `Warning: ${message}`,
  count: (count: number) => (count === 1 ? '⚠ 1 warning' : `⚠ ${count} warnings`),
};
