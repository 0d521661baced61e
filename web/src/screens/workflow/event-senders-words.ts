export const words = {
  title: 'Events of others',
  none: 'Only events of its owner reach it.',
  help: 'Their events reach this workflow if they also share the source with its owner, in their settings.',
  users: 'Users',
  usersHelp: 'By username or id.',
  change: 'Change',
  save: 'Save',
};
