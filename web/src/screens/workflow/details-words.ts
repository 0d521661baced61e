/** Words of the dialog that is loaded on its own. */
export const words = {
  title: 'Description, visibility and runners',
  description: 'Description',
  visibility: 'Visibility',
  choices: { private: 'visible to its owner, or its team', public: 'visible to everyone' },
  tags: 'Tags',
  tagsHelp: 'One a line.',
  runners: 'Users who may start it',
  runnersHelp: 'By username or id. They see its name and its form, whatever their role.',
  runnerGroups: 'Groups that may start it',
  everyone: 'Everyone may start it',
  save: 'Save',
  saved: 'The details are saved.',
};
