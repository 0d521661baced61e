export const words = {
  rotate: 'Rotate',
  title: 'Rotate the signing secret?',
  text: (url: string) =>
    `What is sent to ${url} is signed with a new secret from now on, also deliveries that are tried again. ` +
    'The current secret ends at once.',
};
