export const words = {
  label: 'Diagram of the workflow',
  omitted: (count: number) =>
    count === 1
      ? 'The definition is too large for one picture: 1 task is not drawn.'
      : `The definition is too large for one picture: ${count} tasks are not drawn.`,
  empty: 'The definition has no tasks yet.',
};
