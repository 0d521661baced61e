export const words = {
  start: 'Start',
  input: 'Input as JSON',
  inputHelp: 'The workflow has no schema for its input, so anything is allowed.',
  notJson: 'This is not JSON.',
  notObject: 'The input has to be an object, such as {"order": "A-1"}.',
};
