/** Words of the dialog that is loaded on its own. */
export const words = {
  title: 'Description, visibility and tags',
  description: 'Description',
  visibility: 'Visibility',
  choices: { private: 'visible to you', public: 'visible to everyone' },
  tags: 'Tags',
  tagsHelp: 'One a line.',
  save: 'Save',
  saved: 'The details are saved.',
};
