export const words = {
  requestId: 'Request',
  tryAgain: 'Try again',
  notFound: 'This does not exist, or it is not yours to see. Its owner and admins can see it.',
  unreachable: 'The server cannot be reached.',
};
