export const words = {
  start: 'Start',
  marks: {
    title: 'Key, tags and labels',
    key: 'Key',
    tags: 'Tags',
    labels: 'Labels',
    help: {
      key: 'Of the runs of this workflow that go on, one has it.',
      tags: 'Such as: urgent, from-mail',
      labels: 'Such as: team=sales, region=eu',
    },
  },
  input: 'Input as JSON',
  inputHelp: 'The workflow has no schema for its input, so anything is allowed.',
  notJson: 'This is not JSON.',
  notObject: 'The input must be an object, such as {"order": "A-1"}.',
};
