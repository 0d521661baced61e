/** Texts of what is done with a file. */
export const words = {
  search: 'Search files',
  edit: 'Change',
  editTitle: (name: string) => `Change ${name}`,
  save: 'Save',
  name: 'Name',
  visibility: 'Visibility',
  visibilityHelp: 'Everybody with an account may read a public file.',
  visibilities: { private: 'private', public: 'public' },
  saved: (name: string) => `${name} is saved.`,
  link: 'Link',
  linkTitle: (name: string) => `A link to ${name}`,
  linkHelp: 'Whoever has the link downloads the file without a log-in, until it ends.',
  lasts: 'It works for',
  lifetimes: { 900: '15 minutes', 3_600: 'an hour', 86_400: 'a day' },
  makeLink: 'Create the link',
  linkUntil: (time: string) => `Link, until ${time}`,
};
