/** Words of the dialog that is loaded on its own. */
export const words = {
  move: 'Move',
  title: (name: string) => `Move ${name}`,
  help: 'Versions, runs and deliveries move along. The secrets that it reads are copied to the new owner.',
  to: 'To',
  me: 'me',
  moved: (name: string, to: string) => `${name} belongs to ${to} now.`,
};
