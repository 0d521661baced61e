export const words = {
  requestId: 'Request',
  tryAgain: 'Try again',
  notFound: (detail: string) => `${detail} Or it is not yours to see: its owner and admins can see it.`,
  unreachable: 'The server cannot be reached.',
};
