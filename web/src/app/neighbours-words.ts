export const words = {
  before: 'Previous record',
  after: 'Next record',
  place: (at: number, count: number) => `${at} of ${count}`,
  shortcuts: { '[': 'Previous record', ']': 'Next record' },
};
