export const words = {
  title: 'From elsewhere',
  help: 'As it was when the revision was saved. Runs of it use these contents, whatever is there now.',
  kinds: { function: 'Function', schema: 'Schema' },
  size: (bytes: number) => (bytes === 1 ? '1 byte' : `${bytes} bytes`),
};
