export const words = {
  rotate: 'Rotate',
  title: 'Rotate the signing secret',
  text: (url: string) =>
    `What is sent to ${url} is signed with a new secret from now on, also deliveries that are tried again. ` +
    'A former secret from an earlier rotation ends.',
  former: 'The current secret signs too',
  atOnce: 'no more',
  hour: 'for 1 hour',
  day: 'for 1 day',
  week: 'for 7 days',
  rotating: 'former secret ends',
};
